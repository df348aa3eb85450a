import { mkdtempSync, rmSync } from "node:fs";

/**
 * Makes a folder that is removed with all its content after the test (`temporaryFolder(t)`), or after all
 * tests of the file or suite (`temporaryFolder({ after })`). Its path is short: that of a socket ends at 107
 * bytes.
 */
export function temporaryFolder(context: { after(run: () => void): void }): string {
  const folder = mkdtempSync("/tmp/dray-");
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
