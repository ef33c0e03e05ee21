//! Every operation on [`Bits`] against big integers, over all widths that take another path.

use num_bigint::{BigInt, BigUint};
use p4exec::bitio::{BitWriter, read_bits};
use p4exec::value::Bits;
use proptest::prelude::*;

fn modulus(width: u32) -> BigInt {
    BigInt::from(1) << width
}

/// A width and two values of it; small, machine-word, double-word and big widths all occur.
fn operands() -> impl Strategy<Value = (u32, Vec<u8>, Vec<u8>)> {
    let width = prop_oneof![1u32..=16, 60u32..=68, 120u32..=136, 1u32..=300];
    (
        width,
        proptest::collection::vec(any::<u8>(), 40),
        proptest::collection::vec(any::<u8>(), 40),
    )
        .prop_map(|(w, mut a, mut b)| {
            // Extremes are where arithmetic breaks: let some operands be all ones or all zeroes.
            if a[0] < 40 {
                a.fill(0xff);
            }
            if b[0] < 40 {
                b.fill(0);
            }
            (w, a, b)
        })
}

fn clamp(value: BigInt, low: &BigInt, high: &BigInt) -> BigInt {
    value.max(low.clone()).min(high.clone())
}

proptest! {
    #[test]
    fn arithmetic_agrees_with_big_integers((w, a, b) in operands()) {
        let (x, y) = (Bits::from_bytes_be(w, &a), Bits::from_bytes_be(w, &b));
        let (ux, uy) = (BigInt::from(x.to_biguint()), BigInt::from(y.to_biguint()));
        let (sx, sy) = (x.to_bigint_signed(), y.to_bigint_signed());
        let of = |v: BigInt| Bits::from_bigint(w, &v);
        prop_assert_eq!(x.wrapping_add(&y), of(&ux + &uy));
        prop_assert_eq!(x.wrapping_sub(&y), of(&ux - &uy));
        prop_assert_eq!(x.wrapping_mul(&y), of(&ux * &uy));
        prop_assert_eq!(x.wrapping_neg(), of(-&ux));
        let top = modulus(w) - 1;
        prop_assert_eq!(x.saturating_add_unsigned(&y), of(clamp(&ux + &uy, &BigInt::ZERO, &top)));
        prop_assert_eq!(x.saturating_sub_unsigned(&y), of(clamp(&ux - &uy, &BigInt::ZERO, &top)));
        let (low, high) = (-modulus(w - 1), modulus(w - 1) - 1);
        prop_assert_eq!(x.saturating_add_signed(&y), of(clamp(&sx + &sy, &low, &high)));
        prop_assert_eq!(x.saturating_sub_signed(&y), of(clamp(&sx - &sy, &low, &high)));
        prop_assert_eq!(x.cmp_unsigned(&y), ux.cmp(&uy));
        prop_assert_eq!(x.cmp_signed(&y), sx.cmp(&sy));
        if uy == BigInt::ZERO {
            prop_assert_eq!(x.checked_div_unsigned(&y), None);
        } else {
            prop_assert_eq!(x.checked_div_unsigned(&y), Some(of(&ux / &uy)));
            prop_assert_eq!(x.checked_rem_unsigned(&y), Some(of(&ux % &uy)));
        }
    }

    #[test]
    fn shifts_slices_and_casts_agree((w, a, b) in operands(), n in 0u32..320, m in 0u32..320) {
        let (x, y) = (Bits::from_bytes_be(w, &a), Bits::from_bytes_be(m.max(1), &b));
        let (ux, sx) = (x.to_biguint(), x.to_bigint_signed());
        prop_assert_eq!(x.shl(n), Bits::from_biguint(w, &(&ux << n)));
        prop_assert_eq!(x.shr_unsigned(n), Bits::from_biguint(w, &(&ux >> n)));
        prop_assert_eq!(x.shr_signed(n), Bits::from_bigint(w, &(&sx >> n)));
        prop_assert_eq!(x.resize_unsigned(m), Bits::from_biguint(m, &ux));
        prop_assert_eq!(x.resize_signed(m), Bits::from_bigint(m, &sx));
        let joined = x.concat(&y);
        prop_assert_eq!(joined.width(), w + y.width());
        prop_assert_eq!(joined.to_biguint(), (&ux << y.width()) + y.to_biguint());
        let (low, high) = (n.min(m) % w, n.max(m) % w);
        let (low, high) = (low.min(high), low.max(high));
        let slice = x.slice(high, low);
        let expected = (&ux >> low) % (BigUint::from(1u32) << (high - low + 1));
        prop_assert_eq!(slice.to_biguint(), expected);
        prop_assert_eq!(x.with_slice(high, low, &slice), x.clone());
        let patched = x.with_slice(high, low, &slice.not());
        prop_assert_eq!(patched.slice(high, low), slice.not());
        prop_assert_eq!(patched.xor(&x), Bits::ones(high - low + 1).resize_unsigned(w).shl(low));
    }

    #[test]
    fn words_and_bytes_round_trip((w, a, _) in operands()) {
        let x = Bits::from_bytes_be(w, &a);
        let mut words = Vec::new();
        x.push_words(&mut words);
        prop_assert_eq!(words.len() as u32, w.div_ceil(64));
        prop_assert_eq!(&Bits::from_words(w, &words), &x);
        prop_assert_eq!(&Bits::from_bytes_be(w, &x.to_bytes_be()), &x);
    }

    #[test]
    fn what_is_written_is_read_back(
        parts in proptest::collection::vec(
            (0u32..200, proptest::collection::vec(any::<u8>(), 25)), 1..12)
    ) {
        let widths: Vec<u32> = parts.iter().map(|(w, _)| *w).collect();
        let values: Vec<Bits> = parts.iter().map(|(w, b)| Bits::from_bytes_be(*w, b)).collect();
        let mut writer = BitWriter::new();
        for value in &values {
            writer.push(value);
        }
        let total: u32 = widths.iter().sum();
        let bytes = writer.into_bytes();
        prop_assert_eq!(bytes.len(), total.div_ceil(8) as usize);
        let mut offset = 0;
        for value in &values {
            prop_assert_eq!(&read_bits(&bytes, offset, value.width()).unwrap(), value);
            offset += value.width() as usize;
        }
        prop_assert_eq!(read_bits(&bytes, offset, 8), None);
    }
}

#[test]
fn values_print_with_their_width() {
    assert_eq!(Bits::from_u64(9, 511).to_string(), "0x1ff");
    assert_eq!(Bits::from_u64(16, 10).to_string(), "0x000a");
    assert_eq!(format!("{:?}", Bits::from_u64(1, 1)), "1w0x1");
}
