//! Changes of an engine between two rows: other kernels, heads that retire, more features, other units.

use crate::basis::Basis;
use crate::basis::either::TermsOrWeights;
use crate::basis::vectors::Vectors;
use crate::engine::Engine;
use crate::parts::budget::Budget;
use crate::parts::kernel::DotKernel;
use crate::parts::loss::Loss;
use crate::parts::regulariser::Regulariser;
use crate::parts::step::StepSize;

impl<K: DotKernel + Clone, L: Loss, S: StepSize, B: Budget, R: Regulariser> Engine<TermsOrWeights<Vectors<K>>, L, S, B, R> {
    /// Puts another kernel in the place of that of a plane. The heads that read the plane begin anew with f = 0 and the offset of
    /// the leading head; the terms stay.
    pub(crate) fn replace_kernel(&mut self, plane: usize, kernel: K) {
        self.basis.replace_kernel(plane, kernel);
        let offset = self.heads[self.leader()].offset.clone();
        let slots = self.basis.row_len();
        for (h, head) in self.heads.iter_mut().enumerate().filter(|(_, head)| head.plane == plane) {
            head.begin_anew(self.t, &offset);
            head.f.reserve(slots);
            self.bank.iter_mut().for_each(|bank| bank.admit(h));
        }
        self.choose_planes();
    }

    /// Retires heads of a bank. Other heads must remain.
    pub(crate) fn retire(&mut self, heads: &[usize]) {
        self.all_heads_mut().enumerate().filter(|(h, _)| heads.contains(h)).for_each(|(_, head)| head.retire());
        self.bank.iter_mut().for_each(|bank| bank.retire(|h| heads.contains(&h)));
        self.choose_planes();
    }

    /// Kernel values are computed only for planes that are read: those of heads that have not retired.
    pub(crate) fn choose_planes(&mut self) {
        let read = |plane: &usize| self.heads.iter().any(|head| !head.retired && head.plane == *plane);
        let several = self.heads.iter().any(|head| head.retired);
        let planes = several.then(|| (0..self.basis.space.kernels().len()).filter(read).collect());
        self.basis.space.compute_only(planes);
    }

    /// Increases the number of features. Terms and weights are 0 in the new ones.
    pub(crate) fn widen(&mut self, features: usize) {
        self.basis.widen(features);
        self.linear.widen(features);
        if self.basis.has_weights() {
            let length = self.basis.row_len();
            self.heads.iter_mut().for_each(|head| head.f.reserve(length));
        }
    }

    /// Computes the centres again from their unscaled rows. Terms whose unscaled row is `gone` lose their coefficients. Norms are computed
    /// again, and the certificates of truncation and regret begin anew.
    pub(crate) fn rescale(&mut self, scale: impl FnMut(&[f64], &mut [f32]), gone: impl Fn(&[f64]) -> bool) {
        let Engine { basis, heads, .. } = self;
        for slot in basis.live() {
            if basis.space.unscaled().is_some_and(|rows| gone(rows.row(slot))) {
                heads.iter_mut().for_each(|head| head.f.clear(slot));
            }
        }
        let slots = basis.slots();
        basis.space.rescale(slots, scale);
        self.find_norms(|_| true);
        self.certify_anew(|_| true);
    }
}
