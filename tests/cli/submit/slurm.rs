//! `submit slurm`: an array on a cluster of three nodes, of which two tasks are ended in the midst
//! of their work.

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::cluster::Cluster;
use super::{COMMAND, done, failed, json, plan, stand_in, switchwright, timeless};

/// Switchwright, but shares 2 and 3 stop the first time that they are done, so that they can be
/// ended at their work.
fn stopping(at: &Path) {
    let text = format!(
        "stopped={at}/stopped-$SLURM_ARRAY_TASK_ID\n\
         case \"$SLURM_ARRAY_TASK_ID\" in\n\
         2 | 3) if [ ! -e \"$stopped\" ]; then\n\
           {COMMAND} \"$@\" &\n\
           kill -STOP $!\n\
           echo $! >\"$stopped.part\" && mv \"$stopped.part\" \"$stopped\"\n\
           wait $!\n\
           exit $?\n\
         fi ;;\n\
         esac\n\
         exec {COMMAND} \"$@\"\n",
        at = at.display()
    );
    stand_in(at, "switchwright", &text);
}

#[test]
fn an_array_whose_tasks_are_killed_and_requeued_gives_what_one_machine_gives() {
    let folder = TempDir::new().unwrap();
    let place = folder.path().join("cluster");
    fs::create_dir(&place).unwrap();
    let Some(cluster) = Cluster::start(&place) else {
        return;
    };
    let at = &folder.path().join("a folder");
    fs::create_dir(at).unwrap();
    plan(at);
    stopping(folder.path());
    let program = folder.path().join("programs/switchwright");
    let submit = format!(
        "submit slurm -n 4 -o sweep --memory 64 --run --json --program {} -- check plan.json --failures 2",
        program.display()
    );
    let told = json(&done(cluster.tell(&mut switchwright(at, &submit))));
    let jobs = told["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 2, "{told}");
    let array = jobs[0].as_str().unwrap();

    let stopped = |share: u32| folder.path().join(format!("stopped-{share}"));
    for share in [2, 3] {
        cluster.until("a task is not at work", || stopped(share).exists());
    }
    assert!(!at.join("sweep/shares/shard-2-of-4.json").exists());
    // One loses its process, and asks for another turn itself; the other is put back by hand.
    let process: i32 = fs::read_to_string(stopped(2))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    kill(Pid::from_raw(process), Signal::SIGKILL).unwrap();
    cluster.call("scontrol", &["requeue", &format!("{array}_3")]);
    for share in [2, 3] {
        cluster.start_now(&format!("{array}_{share}"));
    }
    let outcome = at.join("sweep/merged.json");
    cluster.until("the shares are not merged", || outcome.exists());

    let merged = fs::read_to_string(&outcome).unwrap();
    let whole = switchwright(at, "check plan.json --failures 2 --json")
        .output()
        .unwrap();
    assert_eq!(
        timeless(&merged),
        timeless(&String::from_utf8_lossy(&whole.stdout))
    );
    // Submitted again, nothing is done twice.
    let written = |share: u32| {
        let path = at.join(format!("sweep/shares/shard-{share}-of-4.json"));
        fs::metadata(path).unwrap().modified().unwrap()
    };
    let before = [1, 2, 3, 4].map(written);
    fs::remove_file(&outcome).unwrap();
    done(cluster.command("sh").arg(at.join("sweep/submit.sh")));
    cluster.until("the shares are not merged again", || outcome.exists());
    assert_eq!([1, 2, 3, 4].map(written), before);
    assert_eq!(fs::read_to_string(&outcome).unwrap(), merged);
}

#[test]
fn what_sbatch_refuses_is_told() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let path = stand_in(
        at,
        "sbatch",
        "echo 'sbatch: error: Invalid partition' >&2; exit 1\n",
    );
    let line = "submit slurm -n 2 -o sweep --run --sbatch=--partition=none -- check plan.json";
    let output = switchwright(at, line).env("PATH", path).output().unwrap();
    failed(&output, 3, "Invalid partition");
    let script = fs::read_to_string(at.join("sweep/shares.sbatch")).unwrap();
    assert!(script.contains("\n#SBATCH --partition=none\n"), "{script}");
    let output = switchwright(at, line).env("PATH", "").output().unwrap();
    failed(&output, 3, "sbatch");
}
