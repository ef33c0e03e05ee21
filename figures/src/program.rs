//! Programs that benches bring along, compiled.

use std::sync::Arc;

use p4front::Options;
use p4front::source::SourceMap;
use p4ir::ValidProgram;

/// Compiles a program; what is wrong with it, if something is.
pub(super) fn compiled(
    name: &str,
    text: &str,
    options: &Options,
) -> Result<Arc<ValidProgram>, String> {
    let mut map = SourceMap::new();
    let main = map.add(name, text).map_err(|e| format!("{e:?}"))?;
    let compiled = p4front::compile(&mut map, main, options);
    Ok(Arc::new(compiled.map_err(|e| format!("{e:?}"))?.ir))
}
