//! The set of terms that all heads share: centres in numbered slots, with their birth times and ids, and the empty slots (holes).

use std::collections::HashMap;
use std::ops::Range;

use crate::basis::block::Block;
use crate::basis::{Basis, Form, RowsOf, Space};
use crate::gram::{CHUNK, LANES};
use crate::sharded::chunk::Chunk;

/// Marks a term without an id.
pub(crate) const NO_ID: u64 = u64::MAX;

/// Centres x_i in numbered slots. The order of the slots, including holes, is part of the state, because sums run in slot order.
#[derive(Clone, Debug)]
pub struct Terms<P> {
    pub(crate) space: P,
    /// The number of the example that wrote the slot, counted from 1; 0 marks a hole.
    pub(crate) births: Vec<u64>,
    pub(crate) ids: Vec<u64>,
    pub(crate) holes: Vec<u32>,
    /// How often a row was stored whose id named a live term with another input.
    pub(crate) taken_over: u64,
    slot_of: HashMap<u64, u32>,
    /// Which chunks of slots are here, if others are kept elsewhere.
    places: Option<Places>,
}

/// The chunks of slots that are here, in order, and the number of all chunks. A chunk that is not here is whole.
#[derive(Clone, Debug)]
struct Places {
    here: Vec<usize>,
    all: usize,
}

impl<P: Space> Terms<P> {
    /// An empty set of terms.
    pub fn new(space: P) -> Self {
        let (births, ids, holes) = (Vec::new(), Vec::new(), Vec::new());
        Terms { space, births, ids, holes, taken_over: 0, slot_of: HashMap::new(), places: None }
    }

    /// A copy of the same slots, birth times and ids with another space.
    pub(crate) fn with_space(&self, space: P) -> Self {
        Terms {
            space,
            births: self.births.clone(),
            ids: self.ids.clone(),
            holes: self.holes.clone(),
            taken_over: self.taken_over,
            slot_of: self.slot_of.clone(),
            places: self.places.clone(),
        }
    }

    /// The number of live terms, including those that are kept elsewhere.
    pub fn len(&self) -> usize {
        self.births.len() + self.elsewhere() - self.holes.len()
    }

    /// Whether there are no live terms.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Slots in use, holes included, without those that are kept elsewhere.
    pub fn slots(&self) -> usize {
        self.births.len()
    }

    /// The number of the example that wrote the term of a slot; none for a hole.
    pub fn birth(&self, slot: usize) -> Option<u64> {
        self.births.get(slot).copied().filter(|&t| t > 0)
    }

    /// The live slots in order.
    pub fn live(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.births.len()).filter(|&slot| self.births[slot] > 0)
    }

    /// The space that holds the centres.
    pub fn space(&self) -> &P {
        &self.space
    }

    pub(crate) fn slot_of(&self, id: u64) -> Option<usize> {
        self.slot_of.get(&id).map(|&slot| slot as usize)
    }

    /// Returns a slot for a new term that displaces no other: the last hole, or a new slot.
    pub(crate) fn fresh(&mut self) -> usize {
        if let Some(hole) = self.holes.pop() {
            return self.here(hole as usize);
        }
        let slot = self.births.len();
        if let Some(Places { here, all }) = self.places.as_mut().filter(|_| slot.is_multiple_of(CHUNK)) {
            here.push(*all);
            *all += 1;
        }
        self.space.reserve(slot + 1);
        for list in [&mut self.births, &mut self.ids] {
            if list.len() == list.capacity() {
                list.reserve_exact(LANES.max(slot / 32));
            }
        }
        self.births.push(0);
        self.ids.push(NO_ID);
        slot
    }

    pub(crate) fn put(&mut self, slot: usize, rows: P::Rows<'_>, i: usize, birth: u64, id: u64) {
        self.space.put(slot, rows, i);
        self.births[slot] = birth;
        self.name(slot, id);
    }

    /// Sets or removes the id of a slot. Another term that had this id stays, without an id.
    pub(crate) fn name(&mut self, slot: usize, id: u64) {
        let old = std::mem::replace(&mut self.ids[slot], id);
        if old != NO_ID {
            self.slot_of.remove(&old);
        }
        if id != NO_ID
            && let Some(before) = self.slot_of.insert(id, slot as u32).filter(|&before| before as usize != slot)
        {
            self.ids[before as usize] = NO_ID;
        }
    }

    /// Empties a slot that is about to be overwritten.
    pub(crate) fn vacate(&mut self, slot: usize) {
        self.name(slot, NO_ID);
        self.births[slot] = 0;
    }

    /// Empties a slot permanently: it becomes a hole.
    pub(crate) fn remove(&mut self, slot: usize) {
        self.vacate(slot);
        self.space.clear(slot);
        self.holes.push(self.overall(slot) as u32);
    }

    /// From now on, chunks may be kept elsewhere. Holes are numbers among all slots.
    pub(crate) fn divide(&mut self) {
        let all = self.slots().div_ceil(CHUNK);
        self.places.get_or_insert_with(|| Places { here: (0..all).collect(), all });
    }

    /// The number of slots that are kept elsewhere only.
    pub(crate) fn elsewhere(&self) -> usize {
        self.places.as_ref().map_or(0, |places| (places.all - places.here.len()) * CHUNK)
    }

    /// Removes a whole chunk of those that are here. The terms have no ids.
    pub(crate) fn remove_chunk(&mut self, chunk: usize) {
        let (slots, removed) = (chunk * CHUNK..(chunk + 1) * CHUNK, self.places()[chunk]);
        self.space.remove_slots(slots.clone());
        for list in [&mut self.births, &mut self.ids] {
            list.drain(slots.clone());
            list.shrink_to_fit();
        }
        self.places.iter_mut().for_each(|places| places.here.retain(|place| *place != removed));
    }

    /// Puts the chunk of a place, which was elsewhere, before chunk `at` of those that are here.
    pub(crate) fn insert_chunk(&mut self, at: usize, place: usize, chunk: Chunk) {
        self.space.insert_centres(at * CHUNK, chunk.panels, &chunk.squares);
        self.births.splice(at * CHUNK..at * CHUNK, chunk.births);
        self.ids.splice(at * CHUNK..at * CHUNK, chunk.ids);
        self.places.iter_mut().for_each(|places| places.here.insert(at, place));
    }

    /// The number of a slot of all slots among those that are here. Its chunk must be here.
    pub(crate) fn here(&self, slot: usize) -> usize {
        let Some(Places { here, .. }) = &self.places else { return slot };
        here.binary_search(&(slot / CHUNK)).expect("a chunk is here before it changes") * CHUNK + slot % CHUNK
    }

    /// The number among all slots of a slot that is here.
    pub(crate) fn overall(&self, slot: usize) -> usize {
        self.places.as_ref().map_or(slot, |places| places.here[slot / CHUNK] * CHUNK + slot % CHUNK)
    }

    /// The birth time of the oldest term of a chunk that is here; larger than any time if it has none.
    pub(crate) fn oldest_birth(&self, chunk: usize) -> u64 {
        let births = &self.births[chunk * CHUNK..self.slots().min((chunk + 1) * CHUNK)];
        births.iter().copied().filter(|birth| *birth > 0).min().unwrap_or(u64::MAX)
    }

    /// Removes the ids of all terms.
    pub(crate) fn forget_ids(&mut self) {
        self.ids.fill(NO_ID);
        self.slot_of.clear();
    }

    pub(crate) fn restore_ids(&mut self) {
        let named = self.ids.iter().enumerate().filter(|(_, id)| **id != NO_ID);
        self.slot_of = named.map(|(slot, id)| (*id, slot as u32)).collect();
    }
}

impl<P: Space> Basis for Terms<P> {
    type Space = P;

    fn space(&self) -> &P {
        &self.space
    }

    fn row_len(&self) -> usize {
        self.births.len().next_multiple_of(LANES)
    }

    fn begin(&self, rows: RowsOf<'_, Self>, block: &mut Block, learned: bool) {
        let (count, filled) = (P::count(rows), self.row_len());
        let slots = if learned { (self.slots() + count).next_multiple_of(LANES) } else { filled };
        block.begin(count, self.space.planes(), filled, slots);
        self.space.against_terms(rows, filled, block);
        if learned && count > 1 {
            self.space.among_rows(rows, block);
        }
    }

    fn begin_partly(&self, rows: RowsOf<'_, Self>, block: &mut Block, slots: &[Range<usize>]) {
        let (count, filled) = (P::count(rows), self.row_len());
        let first = slots.first().map_or(filled, |slots| slots.start);
        block.begin_from(first, count, self.space.planes(), filled, (self.slots() + count).next_multiple_of(LANES));
        slots.iter().for_each(|slots| self.space.against_some(rows, slots.clone(), block));
        if count > 1 {
            self.space.among_rows(rows, block);
        }
    }

    fn slots(&self) -> usize {
        self.births.len()
    }

    fn places(&self) -> &[usize] {
        self.places.as_ref().map_or(&[], |places| &places.here)
    }

    fn self_values(&self, rows: RowsOf<'_, Self>, i: usize, out: &mut [f64]) {
        self.space.self_values(rows, i, out);
    }

    fn form(&mut self) -> Form<'_, P> {
        Form::Terms(self)
    }

    fn bytes(&self) -> usize {
        // The hash table of ids: one entry and one control byte per bucket; the number of buckets is a power of two, of which 7/8
        // are used.
        let index = (self.slot_of.capacity() * 8 / 7) * (size_of::<(u64, u32)>() + 1);
        let lists = (self.births.capacity() + self.ids.capacity()) * size_of::<u64>() + self.holes.capacity() * size_of::<u32>();
        self.space.bytes() + lists + index
    }
}
