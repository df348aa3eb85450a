const second = 1000;
const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/**
 * A span of time with two or three digits, as kubectl prints ages: `5s`, `2m30s`, `3h`, `4d2h`, `2y60d`.
 * Upstream: k8s.io/apimachinery/pkg/util/duration, HumanDuration
 */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / second);
  // Clocks differ a little, but not much.
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2 * minute) return `${seconds}s`;
  const minutes = Math.trunc(seconds / minute);
  if (minutes < 10) return pair(minutes, "m", seconds % minute, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(seconds / hour);
  if (hours < 8) return pair(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(seconds / day);
  if (hours < 192) return pair(days, "d", hours % 24, "h");
  if (days < 2 * 365) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? pair(years, "y", days % 365, "d") : `${years}y`;
}
