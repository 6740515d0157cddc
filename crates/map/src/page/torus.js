// Arithmetic on a circle of circumference `extent`. Cell i of an axis is the interval [i, i + 1).

/** The number in [0, extent) that x stands for. */
const wrap = (x, extent) => {
  const y = x - Math.floor(x / extent) * extent;
  return y < extent ? y : 0; // a tiny negative x rounds up to the extent
};

/** The shortest way from a to b, in [-extent / 2, extent / 2). */
const shortest = (a, b, extent) => wrap(b - a + extent / 2, extent) - extent / 2;

/** Which share of a window of `side` cells another one covers that starts `offset` cells away. */
const overlap = (offset, side, extent) => {
  const ahead = wrap(offset, extent);
  return (Math.max(0, side - ahead) + Math.max(0, side - (extent - ahead))) / side;
};

/** Sums over the `side` cells up to each cell, along one axis of a row-major plane; wraps. */
const spread = (plane, rows, columns, side, axis) => {
  const sums = new Float32Array(plane.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const value = plane[row * columns + column];
      if (value === 0) continue;
      for (let o = 0; o < side; o++) {
        sums[axis === 0 ? ((row + o) % rows) * columns + column : row * columns + (column + o) % columns] += value;
      }
    }
  }
  return sums;
};

/** Digits of n in `base`, mirrored at the point: 1/2, 1/4, 3/4, ... fill (0, 1) evenly in any number. */
const radicalInverse = (n, base) => {
  let value = 0;
  for (let digit = 1 / base; n > 0; n = Math.floor(n / base), digit /= base) value += (n % base) * digit;
  return value;
};
