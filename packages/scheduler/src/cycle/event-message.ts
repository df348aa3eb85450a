const maxLength = 1024;
const ellipsis = " ...";

/**
 * Message of a FailedScheduling event: the standard words, first and complete if they fit, then the
 * cause, as far as there is room.
 * Upstream: pkg/scheduler/schedule_one.go, truncateMessage.
 */
export function eventMessage(words: string, cause = ""): string {
  const standard = truncated(words, maxLength);
  const room = maxLength - standard.length - 1;
  if (cause === "" || room <= ellipsis.length) return standard;
  return `${standard} ${truncated(cause, room)}`;
}

function truncated(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length - ellipsis.length) + ellipsis;
}
