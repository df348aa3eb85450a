let outlivesReader = false;

/**
 * For commands that run until they are stopped: the end of a reader of the output (`dray up | tee`, Ctrl-C)
 * does not end the process, which has pods to stop first.
 */
export function outliveReader(): void {
  outlivesReader = true;
}

/** Keeps a failed write to standard output or standard error, as on a full disk, from ending the process. */
export function guardOutput({ stdout, stderr, exit }: NodeJS.Process): void {
  let reported = false;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") {
      // A reader may end early (`dray --help | head -1`), which is not a failure.
      if (!outlivesReader) exit();
      return;
    }
    process.exitCode = 1;
    if (!reported) stderr.write(`error: the output cannot be written: ${error.message}\n`);
    reported = true;
  });
  // There is nowhere left to report it.
  stderr.on("error", () => {});
}
