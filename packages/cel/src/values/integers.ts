const maxInt = 2n ** 63n - 1n;
const minInt = -(2n ** 63n);
const maxUint = 2n ** 64n - 1n;

/** Reports whether a value fits into a signed 64-bit integer. */
export const inInt = (value: bigint): boolean => value >= minInt && value <= maxInt;
/** Reports whether a value fits into an unsigned 64-bit integer. */
export const inUint = (value: bigint): boolean => value >= 0n && value <= maxUint;
