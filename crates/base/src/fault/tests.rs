//! Which rules strike which requests, and which rules are refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Attribute, FOREVER, Fault, FaultError, Faults, Request, Rule, Scope, Transport};

/// A transport that can refuse, delay and stall, and knows verbs and addresses.
static SMALL: Transport = Transport {
    name: "small",
    verbs: &["GET", "PUT"],
    attributes: &[Attribute::Verb, Attribute::Address],
    can: |fault| {
        matches!(fault, Fault::Refuse { .. } | Fault::Delay { .. } | Fault::Stall | Fault::Cut)
    },
};

/// Faults with a clock that the test sets, in seconds.
fn faults() -> (Faults, Arc<AtomicU64>) {
    let clock = Arc::new(AtomicU64::new(0));
    let age = Arc::clone(&clock);
    (Faults::new(&SMALL, move || Duration::from_secs(age.load(Ordering::Relaxed))), clock)
}

const GET: Request<'static> =
    Request(&[(Attribute::Verb, "GET"), (Attribute::Address, "r.test/v2/a")]);

#[test]
fn a_rule_that_cannot_be_followed_is_an_error() {
    let (faults, _) = faults();
    let refuse = || Fault::refuse(500);
    let impossible = |fault| FaultError::Impossible { transport: "small", fault: Box::new(fault) };
    let cases = [
        (Rule::new(Scope::default(), Fault::Gone), impossible(Fault::Gone)),
        (Rule::new(Scope::default(), Fault::Garble), impossible(Fault::Garble)),
        (
            Rule::new(Scope::default().kind("", "Pod"), refuse()),
            FaultError::Unknown { transport: "small", attribute: Attribute::Kind },
        ),
        (
            Rule::new(Scope::default().verbs(["GET", "watch"]), refuse()),
            FaultError::Verb { transport: "small", verb: "watch".to_owned() },
        ),
    ];
    for (rule, expected) in cases {
        assert_eq!(faults.install(rule).unwrap_err(), expected);
    }
    assert_eq!(faults.plan(&GET), super::Plan::default(), "none of them is there");
    let said = faults.install(Rule::new(Scope::default(), Fault::Reset)).unwrap_err().to_string();
    assert_eq!(said, "small cannot do Reset");
}

#[test]
fn delays_add_up_and_the_first_failure_decides() {
    let (faults, _) = faults();
    let second = Duration::from_secs(1);
    let all = Scope::default;
    let delay = || Fault::Delay { least: second, most: second };
    for fault in [delay(), Fault::refuse(503), Fault::Cut, delay()] {
        faults.install(Rule::new(all(), fault)).unwrap();
    }
    let plan = faults.plan(&GET);
    assert_eq!((plan.delay, plan.failure), (2 * second, Some(Fault::refuse(503))));
}

#[test]
fn a_stall_lasts_as_long_as_its_rule() {
    let (faults, clock) = faults();
    let stall = || Rule::new(Scope::default().address("/v2/"), Fault::Stall);
    clock.store(10, Ordering::Relaxed);
    let rule = faults.install_for(stall(), Duration::from_mins(1)).unwrap();
    clock.store(30, Ordering::Relaxed);
    assert_eq!(faults.plan(&GET).delay, Duration::from_secs(40));
    clock.store(70, Ordering::Relaxed);
    assert_eq!(faults.plan(&GET).delay, Duration::ZERO);
    assert_eq!(faults.remove(rule), Some(1));
    let rule = faults.install(stall().times(1)).unwrap();
    assert_eq!(faults.plan(&GET).delay, FOREVER);
    assert_eq!(faults.plan(&GET).delay, Duration::ZERO, "once and no more");
    assert_eq!(faults.struck(rule), Some(1));
}

#[test]
fn a_scope_holds_with_one_value_of_each_attribute() {
    let holds = |scope: Scope| scope.holds(&GET);
    assert!(holds(Scope::default()));
    assert!(holds(Scope::default().verbs(["PUT", "GET"])));
    assert!(holds(Scope::default().verbs(["GET"]).address("r.test")));
    assert!(!holds(Scope::default().verbs(["GET"]).address("/v3/")));
    assert!(!holds(Scope::default().namespace("")), "the request has none");
    let agent = Request(&[(Attribute::UserAgent, "sluice/1 linux")]);
    assert!(Scope::default().user_agent("sluice").holds(&agent));
    assert!(!Scope::default().user_agent("linux").holds(&agent));
}

#[test]
fn a_seed_repeats_and_rules_do_not_move_each_other() {
    let run = |seed: u64, more: bool| {
        let (faults, _) = faults();
        faults.seed(seed);
        let half = |fault| Rule::new(Scope::default(), fault).with_probability(0.5);
        faults.install(half(Fault::refuse(500))).unwrap();
        if more {
            faults.install(half(Fault::Stall)).unwrap();
        }
        (0..200).map(|_| faults.plan(&GET).failure.is_some()).collect::<Vec<_>>()
    };
    let first = run(1, false);
    let failed = first.iter().filter(|it| **it).count();
    assert!((60..140).contains(&failed), "{failed} of 200");
    assert_eq!(first, run(1, true));
    assert_ne!(first, run(2, false));
}
