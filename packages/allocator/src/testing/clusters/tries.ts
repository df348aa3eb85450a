import type { Question } from "../reference.ts";

/** The number of combinations if every device matches. */
export function tries({ slices, claims }: Question): number {
  const devices = slices.reduce((sum, { spec }) => sum + (spec.devices ?? []).length, 0);
  const ways = (count: number): number => {
    let result = 1;
    for (let i = 0; i < count; i++) result = (result * Math.max(0, devices - i)) / (i + 1);
    return Math.max(1, result);
  };
  return claims
    .flatMap(({ spec }) => spec.devices?.requests ?? [])
    .map(({ exactly, firstAvailable }) =>
      [exactly, ...(firstAvailable ?? [])].reduce((sum, one) => sum + (one ? ways(Number(one.count)) : 0), 0),
    )
    .reduce((product, n) => product * n, 1);
}
