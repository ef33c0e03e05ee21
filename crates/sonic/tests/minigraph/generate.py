"""Makes config_db.json files of the sample devices of SONiC's own configuration engine, with SONiC's own tools.

    generate.py SONIC_BUILDIMAGE FOLDER

SONIC_BUILDIMAGE is a checkout of sonic-net/sonic-buildimage. From each of its sample minigraphs `sonic-cfggen` makes the tables
of the device, and from the templates of its hardware (`qos.json.j2`, `buffers.json.j2`) those of QoS and buffers, as `config
load_minigraph` does on a switch. Writes FOLDER/SAMPLE/config_db.json and prints a line a sample. Needs lxml, jinja2, netaddr,
natsort and PyYAML (PyPI). What a switch has beside them, its database and its YANG library, is replaced by nothing.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import sys
import tempfile
import types


class Database:
    """A connection to a database that is not there."""

    def __init__(self, *_, **__):
        pass

    def connect(self, *_, **__):
        raise RuntimeError("there is no database")

    def get_table(self, *_):
        return {}

    @staticmethod
    def serialize_key(key, separator="|"):
        return separator.join(map(str, key)) if isinstance(key, tuple) else str(key)

    @staticmethod
    def deserialize_key(key, separator="|"):
        parts = tuple(key.split(separator))
        return parts if len(parts) > 1 else key


def replace_the_switch():
    """Puts modules in place that a switch alone has."""
    common = types.ModuleType("swsscommon.swsscommon")
    for name in ("ConfigDBConnector", "ConfigDBPipeConnector", "SonicV2Connector"):
        setattr(common, name, Database)
    known = staticmethod(lambda: True)
    common.SonicDBConfig = type("SonicDBConfig", (), {"isInit": known, "isGlobalInit": known})
    package = types.ModuleType("swsscommon")
    package.swsscommon = common
    yang = types.ModuleType("sonic_yang")
    yang.SonicYang = type("SonicYang", (), {})
    sys.modules.update({"swsscommon": package, "swsscommon.swsscommon": common, "sonic_yang": yang})


def load(root):
    """SONiC's generator, as a module."""
    engine = root / "src" / "sonic-config-engine"
    sys.path[:0] = [str(engine), str(root / "src" / "sonic-py-common")]
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("cfggen", str(engine / "sonic-cfggen"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("cfggen", loader))
    loader.exec_module(module)
    return module


def hardware(root, sku):
    """The folder of this hardware with the most of what is wanted, or none."""
    wanted = ("qos.json.j2", "buffers.json.j2", "port_config.ini", "hwsku.json")
    folders = sorted(root.glob(f"device/*/*/{sku}")) if sku else []
    rated = [(sum((folder / name).exists() for name in wanted), folder) for folder in folders]
    return max(rated, key=lambda pair: pair[0])[1] if rated else None


def render(cfggen, arguments):
    """What the generator prints."""
    sys.argv = ["sonic-cfggen", *arguments]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        cfggen.main()
    return json.loads(printed.getvalue())


def device(job):
    """One sample: its name, and what was made of it or why nothing was."""
    root, sample, folder, cfggen = job
    skus = re.findall(r"<HwSku>([^<]+)", sample.read_text())
    home = hardware(root, skus[-1] if skus else None)
    arguments = ["-m", str(sample)]
    if home and (home / "port_config.ini").exists():
        arguments += ["-p", str(home / "port_config.ini")]
    elif home and (home / "hwsku.json").exists():
        arguments += ["-p", str(home.parent / "platform.json"), "-S", str(home / "hwsku.json")]
    try:
        config = render(cfggen, [*arguments, "--print-data"])
    except (Exception, SystemExit) as error:
        return sample.stem, f"not made: {type(error).__name__}: {error}"
    made = ["device"]
    with tempfile.TemporaryDirectory() as templates:
        templates = pathlib.Path(templates) / "templates"
        if home:
            # Links are followed: SONiC renders all templates from one folder.
            shutil.copytree(home, templates, symlinks=False, ignore=dangling)
            for name in ("qos_config.j2", "buffers_config.j2"):
                shutil.copy(root / "files" / "build_templates" / name, templates)
        for name in ("qos.json.j2", "buffers.json.j2"):
            if not (templates / name).exists():
                continue
            try:
                config.update(render(cfggen, [*arguments, "-t", str(templates / name)]))
                made.append(name.split(".")[0])
            except (Exception, SystemExit) as error:
                return sample.stem, f"not made: {name}: {type(error).__name__}: {error}"
    home = folder / sample.stem
    home.mkdir()
    (home / "config_db.json").write_text(json.dumps(config))
    return sample.stem, "made: " + ", ".join(made)


def dangling(folder, names):
    """The links that lead nowhere."""
    return [name for name in names if not os.path.exists(os.path.join(folder, name))]


def main():
    root, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    replace_the_switch()
    cfggen = load(root)
    samples = sorted((root / "src" / "sonic-config-engine" / "tests").glob("*.xml"))
    # The generator keeps what it has read in globals: a process for each sample.
    context = multiprocessing.get_context("fork")
    global jobs
    jobs = [(root, sample, folder, cfggen) for sample in samples]
    with context.Pool(2, maxtasksperchild=1) as pool:
        for name, said in pool.imap(numbered, range(len(jobs)), chunksize=1):
            print(f"{name}: {said}")


def numbered(number):
    return device(jobs[number])


if __name__ == "__main__":
    main()
