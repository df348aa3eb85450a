import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";

/** Number of renameat2(2) by architecture, as Node names it. */
const numbers: Readonly<Record<string, number>> = { x64: 316, arm64: 276 };

/** Exchanges two names until its parent or a signal ends it, and prints how often. */
const script = `
$| = 1;
my ($number, $one, $other) = @ARGV;
my ($count, $parent) = (0, getppid);
$SIG{TERM} = sub { print "$count\\n"; exit };
while (getppid == $parent) {
  # AT_FDCWD, RENAME_EXCHANGE
  die "renameat2: $!" if syscall($number + 0, -100, $one, -100, $other, 2);
  $count++;
  select undef, undef, undef, 0.0005;
}
`;

/** Why nothing can be exchanged here; undefined if it can. */
export const withoutExchange = ((): string | undefined => {
  if (process.platform !== "linux" || numbers[process.arch] === undefined)
    return `exchange: no renameat2 on ${process.platform} ${process.arch}`;
  return spawnSync("perl", ["-e", "1"]).status === 0 ? undefined : "exchange: perl is missing";
})();

/** Exchanges two names again and again, as a container does in its volume. */
export class Exchange {
  readonly #child: ChildProcess;
  #count = "";

  constructor(one: string, other: string) {
    this.#child = spawn("perl", ["-e", script, String(numbers[process.arch]), one, other], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child.stdout?.on("data", (chunk) => {
      this.#count += String(chunk);
    });
  }

  /** Ends it. Resolves with the number of exchanges. */
  async stop(): Promise<number> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) {
      const closed = once(this.#child, "close");
      this.#child.kill("SIGTERM");
      await closed;
    }
    return Number(this.#count);
  }
}
