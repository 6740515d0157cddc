//! Inputs of the fuzz targets, replayed.

use countgrid_counts::fuzzing;

const ONE: [u8; 4] = 1.0_f32.to_le_bytes();

fn input(head: [u8; 4], body: &[u8], counts: &[[u8; 4]]) -> Vec<u8> {
    [&head, body, counts.as_flattened()].concat()
}

#[test]
fn accepted_slices_keep_their_promises() {
    let accepted = [
        input([0, 1, 0, 0], &[0], &[]),
        input([0, 3, 0, 0], &[0, 0, 0], &[]),
        input([5, 3, 3, 3], &[0, 2, 3, 0, 4, 1], &[ONE; 3]),
        input([0xff, 2, 2, 2], &[0, 2, 7, 0xf3], &[ONE; 2]), // the largest feature of all
        input([3, 2, 1, 1], &[0, 1, 2], &[f32::MAX.to_le_bytes()]),
    ];
    for data in &accepted {
        assert!(fuzzing::csr(data), "{data:?}");
    }
    let refused = [
        vec![],
        input([5, 0, 0, 0], &[], &[]),
        input([5, 3, 3, 3], &[0, 0xff, 3, 0, 4, 1], &[ONE; 3]),
        input([5, 2, 2, 2], &[0, 2, 4, 0], &[ONE; 2]),
        input([5, 2, 1, 1], &[0, 1, 4], &[f32::NAN.to_le_bytes()]),
        input([5, 2, 2, 2], &[0, 2, 0, 4], &[ONE]),
        input([5, 9, 2, 2], &[0, 2, 0, 4], &[ONE; 2]),
    ];
    for data in &refused {
        assert!(!fuzzing::csr(data), "{data:?}");
    }
}

#[test]
fn no_bytes_break_them() {
    // A hundred thousand inputs from a small generator, about one in a hundred of them accepted.
    let (mut state, mut accepted) = (1_u64, 0);
    for _ in 0..100_000 {
        let mut byte = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % below) as u8
        };
        let (offsets, indices) = (byte(4) + 1, byte(4));
        let mut data = vec![byte(5) + 1, offsets, indices, indices, 0];
        data.extend((1..offsets + indices).map(|_| byte(5)));
        for _ in 0..indices {
            let count = [1.0, 0.5, 1e30, f32::NAN][usize::from(byte(20).saturating_sub(16))];
            data.extend(f32::to_le_bytes(count));
        }
        accepted += usize::from(fuzzing::csr(&data));
    }
    assert!(accepted > 500, "{accepted}");
}
