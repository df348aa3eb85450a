/** Does that release (`1.36`) have what is marked with these first and last releases? */
export function inRelease(
  marks: { readonly since?: string; readonly until?: string },
  release: string,
): boolean {
  const minor = (text: string): number => Number(text.split(".")[1]);
  return (
    (marks.since === undefined || minor(marks.since) <= minor(release)) &&
    (marks.until === undefined || minor(release) <= minor(marks.until))
  );
}
