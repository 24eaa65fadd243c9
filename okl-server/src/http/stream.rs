//! Server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body, Frame};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::answer::Answer;
use super::handlers;
use crate::model::Model;
use crate::model::events::{Next, Reader};
use crate::refusal::Answered;

/// A comment is sent after this time without events, so that a closed connection is noticed.
const QUIET: Duration = Duration::from_secs(15);

/// After the server was asked to stop, streams end when no event comes in this time: those of open requests still come.
const LAST: Duration = Duration::from_millis(250);

/// A body whose parts come from a channel.
struct Parts(mpsc::Receiver<Bytes>);

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|part| part.map(|part| Ok(Frame::data(part))))
    }
}

/// The figures now, then events as they happen, until the server stops (`ending`). All have one form: `data: {"type": ..., ...}`.
pub(super) fn events(model: &Arc<Model>, ending: watch::Receiver<bool>) -> Answered<Answer> {
    let (send, receive) = mpsc::channel(64);
    let _ = send.try_send(figures(model).into());
    tokio::spawn(forward(Arc::downgrade(model), model.events(), send, ending));
    let mut answer = Response::new(Parts(receive).boxed_unsync());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(answer)
}

fn figures(model: &Model) -> String {
    let mut figures = handlers::figures(model);
    figures["type"] = "figures".into();
    format!("data: {figures}\n\n")
}

/// Passes events on until the client or the model is gone, or the server stops. A slow client misses events and is told how many.
async fn forward(model: Weak<Model>, mut events: Reader, send: mpsc::Sender<Bytes>, mut ending: watch::Receiver<bool>) {
    loop {
        let ends = *ending.borrow();
        let next = tokio::select! {
            next = tokio::time::timeout(if ends { LAST } else { QUIET }, events.next()) => next,
            Ok(()) = ending.changed(), if !ends => continue,
        };
        let part = match next {
            Err(_) if ends => return,
            Err(_) => ": still here\n\n".to_owned(),
            Ok(Some(Next::Figures)) => match model.upgrade() {
                Some(model) => figures(&model),
                None => return,
            },
            Ok(Some(Next::Event(event))) => format!("data: {}\n\n", event.json()),
            Ok(Some(Next::Missed(missed))) => format!("data: {}\n\n", json!({ "type": "missed", "missed": missed })),
            Ok(None) => return,
        };
        if send.send(part.into()).await.is_err() {
            return;
        }
    }
}
