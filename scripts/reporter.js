// Names what was skipped and why, once a reason; in CI only reasons that begin with one of DRAY_SKIPS_ALLOWED
// may occur.
export default async function* report(source) {
  const skipped = new Map();
  for await (const event of source) {
    if (event.type !== "test:pass" || event.data.skip === undefined) continue;
    const reason = event.data.skip === true ? "no reason given" : event.data.skip;
    skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
  }
  const allowed = process.env.DRAY_SKIPS_ALLOWED?.split(",");
  for (const [reason, count] of skipped) {
    yield `skipped: ${reason} (${count} test${count === 1 ? "" : "s"})\n`;
    if (allowed !== undefined && !allowed.some((start) => reason.startsWith(start))) {
      yield `FAILED: only what needs ${allowed.join(" or ")} may be skipped here\n`;
      process.exitCode = 1;
    }
  }
}
