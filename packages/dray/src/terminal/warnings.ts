/**
 * Hides what Node warns of features that it calls experimental, node:sqlite among them: no user can do
 * anything about it.
 */
export function hideExperimentalWarnings(): void {
  const listeners = process.listeners("warning");
  process.removeAllListeners("warning");
  process.on("warning", (warning) => {
    if (warning.name === "ExperimentalWarning") return;
    for (const listener of listeners) listener(warning);
  });
}
