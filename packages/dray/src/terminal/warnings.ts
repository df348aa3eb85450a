/**
 * Hides Node's warnings about experimental features such as node:sqlite, on which users have no influence.
 */
export function hideExperimentalWarnings(): void {
  const listeners = process.listeners("warning");
  process.removeAllListeners("warning");
  process.on("warning", (warning) => {
    if (warning.name === "ExperimentalWarning") return;
    for (const listener of listeners) listener(warning);
  });
}
