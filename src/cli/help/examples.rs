//! Examples of every command: the lines that its help ends with. A test reads each, another runs
//! those that need no running switch.

/// The examples of a command, by its path (`topo clos`).
pub(super) fn of(path: &str) -> impl Iterator<Item = &'static str> {
    let found = ALL.iter().find(|(command, _)| *command == path);
    found.map_or(&[][..], |(_, lines)| lines).iter().copied()
}

/// The commands that have examples.
#[cfg(test)]
pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(command, _)| *command)
}

const ALL: &[(&str, &[&str])] = &[
    (
        "topo three-node",
        &["switchwright topo three-node -o three.json"],
    ),
    (
        "topo line",
        &["switchwright topo line 3 --hosts 2 -o line.json"],
    ),
    ("topo ring", &["switchwright topo ring 6 -o ring.json"]),
    (
        "topo clos",
        &[
            "switchwright topo clos --leaves 4 --spines 2 --hosts 2 -o clos.json",
            "switchwright topo clos --pods 2 --leaves 2 --aggregations 2 --spines 4 -o pods.json",
        ],
    ),
    (
        "topo fat-tree",
        &["switchwright topo fat-tree --k 4 -o fat-tree.json"],
    ),
    (
        "topo egft",
        &["switchwright topo egft --hosts 128 --ports 16 --oversubscription 4 -o egft.json"],
    ),
    (
        "topo bcube",
        &["switchwright topo bcube --n 4 --levels 1 -o bcube.json"],
    ),
    (
        "topo jellyfish",
        &[
            "switchwright topo jellyfish --switches 20 --ports 8 --fabric-ports 4 --seed 7 -o jellyfish.json",
            "switchwright topo jellyfish --hosts 128 --ports 16 -o sized.json",
        ],
    ),
    (
        "topo flattened-clos",
        &[
            "switchwright topo flattened-clos --switches 32 --ports 16 --fabric-ports 10 -o flat.json",
        ],
    ),
    (
        "topo xpander",
        &["switchwright topo xpander --switches 22 --ports 16 --fabric-ports 10 -o xpander.json"],
    ),
    (
        "topo import",
        &["switchwright topo import lab.clab.yaml -o lab.json"],
    ),
    (
        "topo cable",
        &[
            "switchwright topo cable clos.json --ocs-ports 32 -o cables.csv",
            "switchwright topo cable clos.json --pitch 2 --prices fc23",
        ],
    ),
    (
        "topo diff",
        &[
            "switchwright topo diff plan.json clos.json   # either may be a folder of LLDP tables",
            "switchwright topo diff clos.json build --json",
        ],
    ),
    (
        "topo show",
        &[
            "switchwright topo show clos.json --svg clos.svg",
            "switchwright topo ring 6 | switchwright topo show -",
        ],
    ),
    (
        "plan",
        &[
            "switchwright plan clos.json -o plan.json   # Tagger, one bounce stays lossless",
            "switchwright plan clos.json --bounces 2 --class gold:2 --class silver:0 --class-bits",
            "switchwright plan ring.json --scheme plinko --resilience 1 -o failover.json",
            "switchwright plan ring.json --scheme plinko --important h1 --important-scheme adst",
            "switchwright plan ring.json --scheme df-fi -o lossless.json",
        ],
    ),
    (
        "check",
        &[
            "switchwright check plan.json",
            "switchwright check failover.json --failures 1 --json",
            "switchwright check plan.json --against clos.json   # or a folder of LLDP tables",
        ],
    ),
    (
        "change",
        &[
            "switchwright change old.json new.json -o change.json   # then: switchwright check change.json",
        ],
    ),
    (
        "audit",
        &[
            "switchwright audit fabric",
            "switchwright audit fabric --routes up-down --bounces 2 -o audit.html",
        ],
    ),
    (
        "measure",
        &["switchwright measure failover.json --failures 1,2 --sets 10 --out figures"],
    ),
    ("merge", &["switchwright merge shares"]),
    (
        "submit slurm",
        &[
            "switchwright submit slurm -n 16 -o sweep -- check failover.json --failures 1",
            "switchwright submit slurm -n 4 -o runs -- measure failover.json   # then: sh runs/submit.sh",
        ],
    ),
    (
        "submit kubernetes",
        &[
            "switchwright submit kubernetes -n 16 -o jobs --claim work -- check failover.json",
            "switchwright submit kubernetes -n 4 -o pods --claim work -- measure failover.json",
        ],
    ),
    (
        "build",
        &[
            "switchwright build plan.json -o build",
            "switchwright build plan.json --formats binpb -o build",
            "switchwright build plan.json --target tna -o tofino",
            "switchwright build plan.json --target sonic -o config",
        ],
    ),
    (
        "entries",
        &[
            "switchwright entries build --switch leaf1 --table ingress.classify",
            "switchwright entries build --format csv -o entries.csv",
        ],
    ),
    (
        "buffers",
        &[
            "switchwright buffers build --format csv -o buffers.csv",
            "switchwright buffers build --switch leaf1 --format lossless -o leaf1.yaml",
            "switchwright buffers build --json",
        ],
    ),
    (
        "targets",
        &["switchwright targets", "switchwright targets --json"],
    ),
    (
        "push",
        &[
            "switchwright push build --devices devices.yaml --dry-run",
            "switchwright push build --devices devices.yaml",
            "switchwright push build --devices devices.yaml --rollback",
        ],
    ),
    (
        "drift",
        &[
            "switchwright drift build --devices devices.yaml",
            "switchwright drift build --devices devices.yaml --watch --interval 10",
        ],
    ),
    (
        "conform",
        &[
            "switchwright conform 127.0.0.1:9559 --cpu-port 510",
            "switchwright conform 127.0.0.1:9559 --fuzz 10000 --seed 7",
        ],
    ),
    (
        "agent",
        &["switchwright agent --address 127.0.0.1:9559 -i 1@veth0 -i 2@veth2"],
    ),
    (
        "drill",
        &[
            "switchwright drill failover --max-lost 10   # switches of its own, as root",
            "switchwright drill failover --update failover-2 --rate 2000",
        ],
    ),
    (
        "trace",
        &[
            "switchwright trace build --from h1 --to h8",
            "switchwright trace build --from h1 --to h8 --fail leaf1-spine1 --fail leaf4-spine2 --short",
        ],
    ),
    (
        "simulate",
        &[
            "switchwright simulate --list",
            "switchwright simulate --scenario bounce --without-tags -o report",
            "switchwright simulate --scenario link-failures --threads 2",
        ],
    ),
    (
        "emulate",
        &[
            "switchwright emulate --scenario bounce --rate 10Mbps   # as root",
            "switchwright emulate build --mininet --script mininet",
        ],
    ),
    (
        "export containerlab",
        &[
            "switchwright export containerlab build -o lab   # then: containerlab deploy -t lab/lab.clab.yml",
            "switchwright export containerlab build -o split --machines 10.0.0.1,10.0.0.2",
        ],
    ),
    (
        "export kne",
        &["switchwright export kne build -o kne   # then: kne create kne/topology.pb.txt"],
    ),
    (
        "switch",
        &[
            "switchwright switch build/p4/tagger.p4 -i 1@veth0 -i 2@veth2",
            "switchwright switch build/p4/tagger.p4 -i 1@veth0 -i 2@veth2 --threads 2",
            "switchwright switch --no-p4 -i 1@veth0 --grpc-server-addr 127.0.0.1:9559 --cpu-port 510",
        ],
    ),
    ("status", &["switchwright status 127.0.0.1:9559"]),
    (
        "cli",
        &[
            "switchwright cli 127.0.0.1:9559 -c show_ports -c show_tables",
            "switchwright cli --thrift-port 9090 -f commands.txt",
        ],
    ),
    (
        "net",
        &[
            "switchwright net topology.json --p4 basic.p4 --entries .   # as root",
            "echo pingall | switchwright net topology.json --p4 basic.p4 --entries .   # as root",
        ],
    ),
    (
        "grade",
        &[
            "switchwright grade labs/02-longest-prefix --solutions",
            "switchwright grade labs/03-ecmp labs/03-ecmp/solution/ecmp.p4 --json",
        ],
    ),
    (
        "p4 check",
        &[
            "switchwright p4 check build/p4/tagger.p4",
            "switchwright p4 check build/p4/tagger.p4 --format sarif",
        ],
    ),
    (
        "p4 compile",
        &[
            "switchwright p4 compile build/p4/tagger.p4 -o tagger.json --p4runtime-files tagger.txtpb",
        ],
    ),
    ("p4 fmt", &["switchwright p4 fmt program.p4"]),
    ("p4 lsp", &["switchwright p4 lsp -I include"]),
    ("p4 info", &["switchwright p4 info build/p4/tagger.p4"]),
    ("p4 ir", &["switchwright p4 ir build/p4/tagger.p4"]),
    (
        "p4 explain",
        &[
            "switchwright p4 explain build/p4/tagger.p4 --list",
            "switchwright p4 explain build/p4/tagger.p4 --pass tables",
            "switchwright p4 explain build --pass profile",
        ],
    ),
    (
        "p4 run",
        &[
            "switchwright p4 run build/p4/tagger.p4 ffffffffffff0200000000010800 --port 1 --trace",
            "echo '1 ffffffffffff0200000000010800' | switchwright p4 run build/p4/tagger.p4 -",
        ],
    ),
    (
        "p4 stf",
        &[
            "switchwright p4 stf program.p4 case.stf",
            "switchwright p4 stf program.p4 case.stf --executor compile",
        ],
    ),
    (
        "p4 bench",
        &["switchwright p4 bench build --switch leaf1 --executor compile --seconds 1"],
    ),
    (
        "bench",
        &[
            "switchwright bench all",
            "switchwright bench plan --only fat-tree --no-peer",
            "switchwright bench scale --only 1000",
            "switchwright bench p4runtime --entries 100000",
        ],
    ),
    (
        "measure-paths",
        &["switchwright measure-paths build --fail leaf1-spine1"],
    ),
    (
        "reproduce",
        &[
            "switchwright reproduce --list",
            "switchwright reproduce Tagger17 table-algorithm-2",
            "switchwright reproduce FC23 figure-5 --out reproduced",
        ],
    ),
    (
        "lab",
        &[
            "switchwright lab",
            "switchwright lab --port 8080 --page page/dist",
        ],
    ),
    ("demo", &["switchwright demo -o out/demo"]),
    (
        "completions",
        &["switchwright completions bash > switchwright.bash"],
    ),
    (
        "man",
        &["switchwright man -o man1   # then: man -l man1/switchwright-plan.1"],
    ),
];
