//! Stephens15's closed-form approximations of section 4.1.1: the probability that a route fails,
//! from the size of the network, the length of an average path and the resilience alone.
//!
//! `C(a, n)` is the binomial coefficient; path lengths are averages, so n need not be whole.

/// Equation 4.1: of so many links, some failed, with `t`-resilient routes of so many hops.
#[must_use]
pub fn edge_failure_simple(links: f64, failed: f64, hops: f64, t: u8) -> f64 {
    if failed <= f64::from(t) {
        return 0.0;
    }
    if links - failed < hops {
        return 1.0;
    }
    (1.0 - choose_ratio(links - failed, links, hops)).powi(i32::from(t) + 1)
}

/// Equation 4.2: the same, with a link less to choose from after every failure. Stephens15 uses
/// this one.
#[must_use]
pub fn edge_failure(links: f64, failed: f64, hops: f64, t: u8) -> f64 {
    if failed <= f64::from(t) {
        return 0.0;
    }
    if links - failed < hops {
        return 1.0;
    }
    let survives = |all: f64| choose_ratio(links - failed, all, hops);
    (0..=u32::from(t))
        .map(|less| 1.0 - survives(links - f64::from(less)))
        .product()
}

/// Equation 4.3: of so many switches, some failed, with reactive shortest paths: the source has
/// failed, or it has not and the destination has.
#[must_use]
pub fn ends_failure(switches: f64, failed: f64) -> f64 {
    if failed > switches {
        return 1.0;
    }
    let part = failed / switches;
    part * (1.0 + (1.0 - part))
}

/// Equation 4.4: of so many switches, some failed, with routes of so many hops that are
/// `t`-resilient to switches.
#[must_use]
pub fn vertex_failure(switches: f64, failed: f64, hops: f64, t: u8) -> f64 {
    if failed <= f64::from(t) {
        return 0.0;
    }
    if switches - failed < hops + 1.0 {
        return 1.0;
    }
    let between = (hops - 1.0).max(0.0);
    let route = (1.0 - choose_ratio(switches - failed, switches - 1.0, between))
        .max(0.0)
        .powi(i32::from(t) + 1);
    1.0 - (1.0 - ends_failure(switches, failed)) * (1.0 - route)
}

/// C(a, n) / C(b, n) for a real n, by interpolation between whole numbers.
fn choose_ratio(a: f64, b: f64, n: f64) -> f64 {
    let whole = |n: u32| {
        (0..n)
            .map(|i| ((a - f64::from(i)) / (b - f64::from(i))).clamp(0.0, 1.0))
            .product::<f64>()
    };
    let low = n.floor();
    let (at, next) = (whole(low as u32), whole(low as u32 + 1));
    at + (next - at) * (n - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equations_of_paper_for_links() {
        // 64 of 1024 links, paths of two hops: 1 - C(960, 2) / C(1024, 2).
        let once = 1.0 - (960.0 * 959.0) / (1024.0 * 1023.0);
        for equation in [edge_failure_simple, edge_failure] {
            assert!((equation(1024.0, 64.0, 2.0, 0) - once).abs() < 1e-12);
            assert_eq!(equation(1024.0, 4.0, 2.0, 4), 0.0);
            assert_eq!(equation(8.0, 7.0, 2.0, 4), 1.0);
        }
        assert!((edge_failure_simple(1024.0, 64.0, 2.0, 2) - once.powi(3)).abs() < 1e-12);
        // One link less to choose from: C(1023, 2) in the second factor.
        let twice = once * (1.0 - (960.0 * 959.0) / (1023.0 * 1022.0));
        assert!((edge_failure(1024.0, 64.0, 2.0, 1) - twice).abs() < 1e-12);
    }

    #[test]
    fn the_equations_of_paper_for_switches() {
        // 4 of 40: one end in ten, or the other.
        assert!((ends_failure(40.0, 4.0) - 0.19).abs() < 1e-12);
        assert_eq!(ends_failure(4.0, 5.0), 1.0);
        // Two hops: one switch between, of 39, 36 of them alive (C(36, 1) / C(39, 1)).
        let between: f64 = 1.0 - 36.0 / 39.0;
        let expected = 1.0 - 0.81 * (1.0 - between.powi(3));
        assert!((vertex_failure(40.0, 4.0, 2.0, 2) - expected).abs() < 1e-12);
        assert_eq!(vertex_failure(40.0, 2.0, 2.0, 2), 0.0);
        assert_eq!(vertex_failure(4.0, 3.0, 2.0, 1), 1.0);
    }
}
