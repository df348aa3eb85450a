import { commandLine } from "./commands.ts";
import { reportFailure } from "./failure.ts";

try {
  await commandLine().parseAsync(process.argv);
} catch (error) {
  process.exitCode = reportFailure(error, process.stderr);
}
