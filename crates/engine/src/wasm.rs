//! What a page calls where the engine is WebAssembly. Text goes both ways through memory: the page
//! asks for room, writes a request there, calls, and reads the answer where it is told. A module
//! has one engine, and one thread.
#![allow(unsafe_code)] // For the names of the functions alone: none dereferences anything.

use std::cell::RefCell;

use crate::Engine;

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::new(Engine::new());
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Where a request of so many bytes is to be written.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> usize {
    REQUEST.with_borrow_mut(|request| {
        *request = vec![0; bytes];
        request.as_mut_ptr() as usize
    })
}

/// Answers the request that was written; how many bytes the answer has.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn call() -> usize {
    let request = REQUEST.take();
    let answer = match std::str::from_utf8(&request) {
        Ok(request) => ENGINE.with_borrow_mut(|engine| engine.call(request)),
        Err(_) => r#"{"error":{"kind":"wrong","message":"the request is not UTF-8"}}"#.to_owned(),
    };
    ANSWER.with_borrow_mut(|last| {
        *last = answer;
        last.len()
    })
}

/// Where the answer is, until the next call.
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    ANSWER.with_borrow(|answer| answer.as_ptr() as usize)
}
