//! What the interpreter finds in the module, and the function by which it asks for it.
//!
//! PyO3's macros would write it. They are compiled with features of `syn` that nothing else asks
//! for, and with them all that is derived in any crate: the wheel would share nothing with the
//! command and its tests.
#![allow(unsafe_code)] // For the module's own object: all else is PyO3's.

use std::ffi::{CStr, OsString};
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyTuple};
use pyo3::{BoundObject, IntoPyObject, ffi};
use switchwright::cli::{self, Program};

use crate::engine::Engine;

const NAME: &CStr = c"switchwright._engine";
const ABOUT: &CStr =
    c"The engine and the command of Switchwright. People use the module `switchwright` around it.";

/// Makes the module.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
extern "C" fn PyInit__engine() -> *mut ffi::PyObject {
    Python::attach(|py| match make(py) {
        Ok(module) => module.into_any().into_ptr(),
        Err(error) => {
            error.restore(py);
            ptr::null_mut()
        }
    })
}

fn make(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    // The interpreter keeps it as long as it lives.
    let definition = Box::leak(Box::new(ffi::PyModuleDef {
        m_base: ffi::PyModuleDef_HEAD_INIT,
        m_name: NAME.as_ptr(),
        m_doc: ABOUT.as_ptr(),
        // There is one engine in a process: interpreters do not get one each.
        m_size: -1,
        m_methods: ptr::null_mut(),
        m_slots: ptr::null_mut(),
        m_traverse: None,
        m_clear: None,
        m_free: None,
    }));
    // SAFETY: the definition is whole, and nobody frees it; what comes back is a new reference, or
    // null with an error that is set.
    let module = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyModule_Create(definition))? };
    let module = module.cast_into::<PyModule>()?;
    fill(&module)?;
    Ok(module)
}

/// Puts in what `_engine.pyi` says.
fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    let engine = Arc::new(Engine::new());
    let asked = Arc::clone(&engine);
    add(module, c"call", move |arguments| {
        let (request,): (String,) = arguments.extract()?;
        asked.call(arguments.py(), request)
    })?;
    add(module, c"build", move |arguments| {
        let (network, target, directory, version) =
            arguments.extract::<(String, String, PathBuf, Option<u8>)>()?;
        engine.build(arguments.py(), network, target, directory, version)
    })?;
    add(module, c"run", |arguments| {
        let (line, program): (Vec<OsString>, Option<PathBuf>) = arguments.extract()?;
        Ok(run(arguments.py(), line, program))
    })?;
    module.add(
        "__all__",
        ["VERSION", "build", "call", "run"].into_pyobject(py)?,
    )
}

/// Adds a function.
fn add<R>(
    module: &Bound<'_, PyModule>,
    name: &'static CStr,
    function: impl Fn(&Bound<'_, PyTuple>) -> PyResult<R> + Send + Sync + 'static,
) -> PyResult<()>
where
    R: for<'py> IntoPyObject<'py>,
{
    let closure = move |arguments: &Bound<'_, PyTuple>,
                        _: Option<&Bound<'_, pyo3::types::PyDict>>| {
        let py = arguments.py();
        let done = function(arguments)?;
        let object = done.into_pyobject(py).map_err(Into::into)?;
        Ok::<Py<PyAny>, PyErr>(object.into_any().unbind())
    };
    let made = PyCFunction::new_closure(module.py(), Some(name), None, closure)?;
    module.add(name.to_string_lossy().as_ref(), made)
}

/// Runs the command with its arguments, the program's name first; its exit status. `program` is the
/// file that runs the command, for commands that start themselves again.
fn run(py: Python<'_>, arguments: Vec<OsString>, program: Option<PathBuf>) -> u8 {
    let missing = || Program::Missing(MISSING.to_owned());
    let program = program.map_or_else(missing, Program::File);
    py.detach(|| cli::run(arguments, Some(program)))
}

const MISSING: &str = "this command starts itself again, which takes the script `switchwright` of the wheel, and it is not installed";
