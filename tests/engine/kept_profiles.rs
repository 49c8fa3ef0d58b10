//! Kept profiles: their list, their renewal and their removal.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::search::profiling::{ProfileCondition, Profiler, WorkerProfile};
use divisi_engine::search::{Cache, Control, ProfileRenewal};
use divisi_model::allocation::Footprints;
use divisi_model::catalogue::Catalogue;
use divisi_model::ensemble::Ensemble;
use divisi_runtime::compute::kernels_in_use;
use divisi_runtime::device::DeviceIndex;
use divisi_runtime::device::host::{CoreLoad, HostLoad};

use crate::common::{digits, fakes, two_devices};

/// Profiles all members and a worker. Returns the number of measured members.
fn measured(ensemble: &Ensemble, cache: &Cache) -> usize {
    let devices = two_devices();
    let factory = fakes(ensemble);
    let profiler = Profiler {
        catalogue: &Catalogue::from_ensemble(Arc::new(ensemble.clone())),
        devices: &devices,
        footprints: &Footprints::plan(ensemble, &devices),
        factory: factory.as_ref(),
        cache: Some(cache),
        control: &Control::default(),
    };
    let workers = profiler.workers(DeviceIndex::new(0)).expect("workers");
    for (worker, _) in workers {
        let mut sizes = ensemble.batch_sizes.iter();
        assert!(sizes.all(|size| worker.tail(size.get()) >= 1.0));
    }
    profiler.costs().expect("profiles").measured
}

#[test]
fn kept_profiles_are_listed_with_their_origin() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::at(folder.path());
    assert_eq!(cache.profiles(), []);
    let ensemble = digits();
    assert_eq!(measured(&ensemble, &cache), 6);
    let profiles = cache.profiles();
    let members: Vec<&str> = profiles.iter().map(|p| p.about.member.as_str()).collect();
    assert_eq!(
        members,
        ["cnn-m", "cnn-s", "dense", "mlp", "res-m", "res-s"]
    );
    for profile in &profiles {
        let about = &profile.about;
        assert_eq!((about.precision.as_str(), about.is_stale()), ("f32", false));
        assert_eq!(about.kernels, kernels_in_use());
        assert!(
            about.device.starts_with("2 × ") && about.age() < 3600,
            "{about:?}"
        );
        let sizes = profile.times.iter().map(|(rows, _)| *rows);
        assert!(sizes.eq(ensemble.batch_sizes.iter().map(|size| size.get())));
    }
}

#[test]
fn an_option_measures_kept_profiles_again_and_replaces_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::at(folder.path());
    let ensemble = digits();
    assert_eq!(measured(&ensemble, &cache), 6);
    cache.doubt_profiles(|about| about.member == "mlp");
    let doubtful = |cache: &Cache| {
        let profiles = cache.profiles().into_iter();
        let doubtful = profiles.filter(|p| p.about.condition == ProfileCondition::Doubtful);
        doubtful.map(|p| p.about.member).collect::<Vec<_>>()
    };
    assert_eq!(doubtful(&cache), ["mlp"]);
    assert_eq!(
        measured(&ensemble, &cache),
        0,
        "by default, a kept profile is used"
    );
    assert_eq!(
        measured(&ensemble, &cache.clone().renewing(ProfileRenewal::All)),
        6
    );
    assert_eq!(doubtful(&cache), Vec::<String>::new());
    assert_eq!(cache.profiles().len(), 6, "replaced");
}

#[test]
fn removed_profiles_are_measured_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::at(folder.path());
    let ensemble = digits();
    measured(&ensemble, &cache);
    let mut profiles = cache.profiles();
    profiles.truncate(2);
    cache.clear_profiles(&profiles).expect("removes");
    assert_eq!(cache.profiles().len(), 4);
    assert_eq!(measured(&ensemble, &cache), 2);
    let old = folder.path().join("profile-of-an-old-version.json");
    let other = folder.path().join("result.json");
    for path in [&old, &other] {
        std::fs::write(path, "{}").expect("writes");
    }
    cache.clear_all_profiles().expect("removes");
    assert_eq!(cache.profiles(), []);
    assert!(!old.exists() && other.exists(), "results of searches stay");
}

fn load(window: Duration, others: f64) -> HostLoad {
    let core = |core| CoreLoad {
        core,
        own: 1.0 - others,
        others: if core == 1 { others } else { 0.0 },
        steal: 0.0,
    };
    HostLoad {
        window,
        cores: vec![core(0), core(1)],
        ..HostLoad::default()
    }
}

#[test]
fn a_busy_loop_on_a_measuring_core_disturbs_it() {
    let second = Duration::from_secs(1);
    assert!(!load(second, 0.05).is_disturbed(None));
    assert!(load(second, 0.5).is_disturbed(None));
    assert!(!load(second, 0.5).is_disturbed(Some(&[0])), "another core");
    // The counters have ticks of 10 ms: 20 ms of 100 ms may be two ticks of nearly nothing.
    let moment = Duration::from_millis(100);
    assert!(!load(moment, 0.2).is_disturbed(None));
    assert!(load(moment, 0.5).is_disturbed(None));
}

#[test]
fn a_batch_has_the_tail_of_its_size_or_of_the_next_larger_one() {
    let worker = WorkerProfile {
        loading: 0.1,
        tails: vec![(8, 2.0), (32, 1.5), (128, 0.5)],
    };
    let tails = [1, 8, 9, 32, 128, 500].map(|rows| worker.tail(rows));
    assert_eq!(tails, [2.0, 2.0, 1.5, 1.5, 1.0, 1.0]);
}
