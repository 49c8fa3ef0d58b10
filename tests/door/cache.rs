//! Answers that are kept.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use divisi_door::limits::ServerLimits;
use divisi_door::{CacheMachine, InferenceServer, ServerOptions};
use serde_json::{Value, json};

use crate::client::ask;
use crate::service::{Echo, options};

mod machine {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn the_least_recently_used_leave_first() {
        let mut machine = CacheMachine::new(30);
        for key in 1..=3 {
            machine.keep(key, key * 100, 10, 0);
        }
        assert_eq!(machine.find(1), Some(&100));
        machine.keep(4, 400, 20, 0);
        let left = [1, 2, 3, 4].map(|key| machine.find(key).copied());
        assert_eq!(left, [Some(100), None, None, Some(400)]);
        assert_eq!((machine.bytes(), machine.len()), (30, 2));
    }

    #[test]
    fn one_of_the_same_key_takes_the_place_and_one_that_is_too_large_is_not_kept() {
        let mut machine = CacheMachine::new(30);
        machine.keep(1, 'a', 20, 0);
        machine.keep(1, 'b', 30, 0);
        assert_eq!((machine.find(1).copied(), machine.bytes()), (Some('b'), 30));
        machine.keep(2, 'c', 31, 0);
        assert_eq!(
            (machine.find(1).copied(), machine.find(2)),
            (Some('b'), None)
        );
    }

    #[test]
    fn another_epoch_forgets_all_and_keeps_nothing_of_those_before() {
        let mut machine = CacheMachine::new(30);
        machine.keep(1, 'a', 10, 0);
        machine.enter(1);
        assert!(machine.is_empty() && machine.bytes() == 0);
        machine.keep(2, 'b', 10, 0);
        assert_eq!(machine.find(2), None);
        machine.keep(2, 'b', 10, 1);
        machine.enter(1);
        assert_eq!(machine.find(2), Some(&'b'));
    }

    /// The definition: a list, the last used last.
    #[derive(Default)]
    struct PlainCache(VecDeque<(u128, usize)>);

    impl PlainCache {
        fn find(&mut self, key: u128) -> bool {
            let at = self.0.iter().position(|(known, _)| *known == key);
            let found = at.and_then(|at| self.0.remove(at));
            self.0.extend(found);
            found.is_some()
        }

        fn keep(&mut self, key: u128, bytes: usize, most: usize) {
            if bytes > most {
                return;
            }
            self.0.retain(|(known, _)| *known != key);
            while self.bytes() + bytes > most {
                self.0.pop_front();
            }
            self.0.push_back((key, bytes));
        }

        fn bytes(&self) -> usize {
            self.0.iter().map(|(_, bytes)| bytes).sum()
        }
    }

    #[test]
    fn it_does_as_its_definition() {
        let (mut machine, mut plain) = (CacheMachine::new(100), PlainCache::default());
        let mut state = 7u64;
        let mut next = |most: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % most
        };
        for _ in 0..20_000 {
            let key = u128::from(next(20));
            if next(2) == 0 {
                assert_eq!(machine.find(key).is_some(), plain.find(key));
            } else {
                let bytes = next(110) as usize;
                machine.keep(key, (), bytes, 0);
                plain.keep(key, bytes, 100);
            }
            assert_eq!(machine.bytes(), plain.bytes());
            assert_eq!(machine.len(), plain.0.len());
        }
    }
}

/// A server that keeps answers.
struct Keeping {
    server: InferenceServer,
    asked: Arc<AtomicUsize>,
    epoch: Arc<AtomicU64>,
}

impl Keeping {
    fn new(bytes: usize) -> Self {
        let echo = Echo::default();
        let (asked, epoch) = (Arc::clone(&echo.asked), Arc::clone(&echo.epoch));
        let options = ServerOptions {
            cache: NonZeroUsize::new(bytes),
            ..options(ServerLimits::default())
        };
        let server = InferenceServer::start(Arc::new(echo), &options).expect("starts");
        Keeping {
            server,
            asked,
            epoch,
        }
    }

    /// Asks a model, and returns the answer and whether the model was asked.
    fn ask(&self, model: &str, body: &Value) -> (Value, bool) {
        let before = self.asked.load(Ordering::SeqCst);
        let address = self.server.addresses().http.expect("an address");
        let path = format!("/v2/models/{model}/infer");
        let answer = ask(address, "POST", &path, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        let asked = self.asked.load(Ordering::SeqCst) > before;
        (answer.json(), asked)
    }
}

fn body(values: [i32; 3]) -> Value {
    json!({"inputs": [{"name": "x", "datatype": "INT32", "shape": [1, 3], "data": values}]})
}

#[test]
fn an_equal_request_is_answered_the_same_and_asks_no_model() {
    let keeping = Keeping::new(1 << 20);
    let (first, asked) = keeping.ask("echo", &body([1, 2, 3]));
    assert!(asked);
    assert_eq!(keeping.ask("echo", &body([1, 2, 3])), (first, false));
    let mut named = body([1, 2, 3]);
    named["id"] = json!("7");
    let (answer, asked) = keeping.ask("echo", &named);
    assert!(!asked && answer["id"] == "7", "{answer}");
    let mut classes = body([1, 2, 3]);
    classes["outputs"] = json!([{"name": "x", "parameters": {"classification": 1}}]);
    assert!(keeping.ask("echo", &classes).1, "other outputs are wanted");
}

#[test]
fn what_differs_anywhere_is_asked() {
    let keeping = Keeping::new(1 << 20);
    let mut others = vec![body([1, 2, 3]), body([1, 2, 4])];
    let mut changed = |name: &str, value: Value| {
        let mut other = body([1, 2, 3]);
        other["inputs"][0][name] = value;
        others.push(other);
    };
    changed("name", json!("y"));
    changed("datatype", json!("UINT32"));
    changed("shape", json!([3, 1]));
    for other in &others {
        assert!(keeping.ask("echo", other).1, "{other}");
    }
    for other in &others {
        assert!(!keeping.ask("echo", other).1, "{other}");
    }
}

#[test]
fn a_model_may_go_without_and_another_epoch_forgets() {
    let keeping = Keeping::new(1 << 20);
    assert!(keeping.ask("slow", &body([1, 2, 3])).1);
    assert!(keeping.ask("slow", &body([1, 2, 3])).1);
    assert!(keeping.ask("echo", &body([1, 2, 3])).1);
    keeping.epoch.fetch_add(1, Ordering::SeqCst);
    assert!(keeping.ask("echo", &body([1, 2, 3])).1);
    assert!(!keeping.ask("echo", &body([1, 2, 3])).1);
}

#[test]
fn hits_and_misses_are_counted_by_model_and_memory_is_bounded() {
    let keeping = Keeping::new(4000);
    for value in [1, 1, 1, 2] {
        keeping.ask("echo", &body([value, 0, 0]));
    }
    let address = keeping.server.addresses().http.expect("an address");
    let text = || {
        let answer = ask(address, "GET", "/metrics", b"");
        String::from_utf8(answer.body).expect("text")
    };
    let stats = ask(address, "GET", "/v2/models/echo/stats", b"").json();
    let stats = &stats["model_stats"][0];
    let count = |name: &str| stats["inference_stats"][name]["count"].clone();
    assert_eq!(count("cache_hit"), 2);
    assert_eq!(count("cache_miss"), 2);
    assert_eq!(count("success"), 4);
    assert_eq!(
        count("queue"),
        4,
        "kept answers are there, as perf_analyzer expects"
    );
    let config = ask(address, "GET", "/v2/models/echo/config", b"").json();
    assert_eq!(config["response_cache"], json!({ "enable": true }));
    assert_eq!(
        (&stats["inference_count"], &stats["execution_count"]),
        (&json!(2), &json!(2))
    );
    let line = r#"nv_cache_num_hits_per_model{model="echo",version="1"} 2"#;
    assert!(text().contains(line));
    for value in 0..100 {
        keeping.ask("echo", &body([value, 7, 7]));
    }
    let held = text();
    let held = held
        .lines()
        .find_map(|line| line.strip_prefix("divisi_cache_bytes "));
    let held: f64 = held.expect("it is told").parse().expect("a number");
    assert!(held > 0.0 && held <= 4000.0, "{held}");
}
