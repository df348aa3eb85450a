/** Go's zero time, 0001-01-01T00:00:00Z, in seconds since 1970: an unset time. */
export const zeroTime = -62_135_596_800;

/** The years that RFC 3339 can write, 0000 to 9999, in seconds since 1970. */
export const times = { first: -62_167_219_200, last: 253_402_300_799 };
