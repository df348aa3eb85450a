import { commandLine } from "./commands.ts";
import { reportFailure } from "./failure.ts";

// Who reads our output may have had enough (`dray --help | head -1`): that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

try {
  await commandLine().parseAsync(process.argv);
} catch (error) {
  process.exitCode = reportFailure(error, process.stderr);
}
