//! How values and keys are written (P4Runtime 1.5, sections 8.3 and 9.1.1).

use p4runtime::p4::v1;
use tonic::Code;

use crate::support::{Rig, exact, insert, lpm, optional, range, ternary};

#[tokio::test(flavor = "multi_thread")]
async fn p10_any_padding_is_taken_and_the_shortest_form_answered() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let mut say = async |key: &[u8], arg: &[u8]| {
        client
            .one(insert(rig.entry(
                "exact_one",
                vec![exact(1, key)],
                0,
                "send",
                &[arg],
            )))
            .await
    };
    assert_eq!(say(&[0, 0, 0, 0, 0, 7], &[0, 0, 3]).await, Code::Ok);
    assert_eq!(say(&[], &[3]).await, Code::OutOfRange);
    assert_eq!(say(&[1, 0, 0, 0, 0], &[3]).await, Code::OutOfRange);
    assert_eq!(say(&[8], &[]).await, Code::OutOfRange);
    assert_eq!(
        say(&[8], &[2, 0]).await,
        Code::OutOfRange,
        "512 is no bit<9>"
    );
    assert_eq!(
        say(&[7], &[1]).await,
        Code::AlreadyExists,
        "the same value, however it is padded"
    );
    let found = client
        .entries(v1::TableEntry {
            table_id: rig.table("exact_one"),
            ..Default::default()
        })
        .await;
    assert_eq!(
        found,
        [rig.entry("exact_one", vec![exact(1, &[7])], 0, "send", &[&[3]])]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn p10_wide_and_signed_arguments_come_back() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let wide = [0xab; 16];
    let entry = rig.entry(
        "exact_one",
        vec![exact(1, &[1])],
        0,
        "wide",
        &[&wide, &[0x80]],
    );
    assert_eq!(client.one(insert(entry.clone())).await, Code::Ok);
    let too_low = rig.entry(
        "exact_one",
        vec![exact(1, &[2])],
        0,
        "wide",
        &[&wide, &[0xff, 0x7f]],
    );
    assert_eq!(client.one(insert(too_low)).await, Code::OutOfRange);
    assert_eq!(
        client
            .entries(v1::TableEntry::default())
            .await
            .iter()
            .filter(|e| **e == entry)
            .count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn p11_dont_care_is_left_out_and_bits_that_do_not_matter_are_zero() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let routes = |key: Vec<v1::FieldMatch>| insert(rig.entry("routes", key, 0, "drop", &[]));
    let acl = |key: Vec<v1::FieldMatch>| insert(rig.entry("acl", key, 1, "NoAction", &[]));
    let full = [0xff, 0xff];
    for (update, wanted) in [
        (routes(vec![lpm(1, &[10, 0, 0, 0], 8)]), Code::Ok),
        (
            routes(vec![lpm(1, &[10, 0, 0, 1], 8)]),
            Code::InvalidArgument,
        ),
        (routes(vec![lpm(1, &[0], 0)]), Code::InvalidArgument),
        (routes(vec![lpm(1, &[0], 33)]), Code::InvalidArgument),
        (routes(vec![lpm(1, &[0], -1)]), Code::InvalidArgument),
        (routes(vec![]), Code::Ok),
        (routes(vec![exact(1, &[1])]), Code::InvalidArgument),
        (
            routes(vec![v1::FieldMatch {
                field_id: 1,
                field_match_type: None,
            }]),
            Code::InvalidArgument,
        ),
        (acl(vec![ternary(1, &[1], &[3])]), Code::Ok),
        (acl(vec![ternary(1, &[4], &[3])]), Code::InvalidArgument),
        (acl(vec![ternary(1, &[0], &[0])]), Code::InvalidArgument),
        (acl(vec![range(2, &[5], &[9])]), Code::Ok),
        (acl(vec![range(2, &[9], &[5])]), Code::InvalidArgument),
        (acl(vec![range(2, &[0], &full)]), Code::InvalidArgument),
        (acl(vec![optional(3, &[0])]), Code::Ok),
        (
            acl(vec![optional(3, &[1]), optional(3, &[1])]),
            Code::InvalidArgument,
        ),
        (acl(vec![optional(9, &[1])]), Code::InvalidArgument),
        (acl(vec![]), Code::Ok),
        (
            insert(rig.entry("fixed", vec![], 1, "NoAction", &[])),
            Code::PermissionDenied,
        ),
        (
            insert(rig.entry("exact_one", vec![], 0, "drop", &[])),
            Code::InvalidArgument,
        ),
    ] {
        let text = format!("{update:?}");
        assert_eq!(client.one(update).await, wanted, "{text}");
    }
    let found = client
        .entries(v1::TableEntry {
            table_id: rig.table("acl"),
            ..Default::default()
        })
        .await;
    let keys: Vec<usize> = found.iter().map(|e| e.r#match.len()).collect();
    assert_eq!(keys, [1, 1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn p12_priorities_where_and_only_where_they_belong() {
    let rig = Rig::start().await;
    let mut client = rig.ready().await;
    let acl =
        |priority| insert(rig.entry("acl", vec![optional(3, &[1])], priority, "NoAction", &[]));
    for (priority, wanted) in [
        (0, Code::InvalidArgument),
        (-1, Code::InvalidArgument),
        (5, Code::Ok),
        (5, Code::AlreadyExists),
        (6, Code::Ok),
        (i32::MAX, Code::Ok),
    ] {
        assert_eq!(client.one(acl(priority)).await, wanted, "{priority}");
    }
    let entry = rig.entry("exact_one", vec![exact(1, &[1])], 3, "drop", &[]);
    let (code, message) = client.refused(insert(entry)).await;
    assert_eq!(code, Code::InvalidArgument);
    assert!(
        message.contains("I.exact_one") && message.contains("priority 3"),
        "{message}"
    );
}
