/**
 * A double in the fewest digits that tell it from others, as Go writes it: with an exponent below -4 and from
 * `largestPower` on. Upstream: strconv.FormatFloat with `g` (6); fmt's `%v` has an exponent from 21 on only.
 */
export function floatText(value: number, largestPower: 6 | 21 = 6): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0";
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (value === 0 || (power >= -4 && power < largestPower)) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
