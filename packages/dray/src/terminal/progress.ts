import { verbosity } from "./verbosity.ts";

/** Shows the progress of a long command. */
export interface Progress {
  /** Sets the current step. May be called often, also from synchronous code. */
  update(text: string): void;
  /** Shows the step at once, before synchronous work that takes long. */
  show(text: string): void;
  /** Removes the progress: before other output, and at the end. */
  stop(): void;
}

/** Milliseconds before progress is shown. */
const delay = 400;
/** Milliseconds of one step before it is printed where no line can be erased. */
const waitDelay = 3_000;
const frameInterval = 100;
const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const clearLine = "\r\u001b[2K";

/** The stream, and the clock in milliseconds. */
export interface Screen {
  readonly stream: Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;
  now(): number;
}

const screen: Screen = { stream: process.stderr, now: () => performance.now() };

export interface ProgressOptions {
  /** Where no line can be erased, each step that keeps the user waiting for three seconds is a line. */
  readonly everywhere?: boolean;
}

/** The output of a progress. */
export interface ProgressOutput {
  readonly on: Screen;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Shows a line on standard error with the current step and its time, and removes it at the end. Only on a
 * terminal that can erase a line, and not with --quiet. With --verbose it prints each step as a line, to any
 * output.
 */
export function startProgress(
  text: string,
  { everywhere = false }: ProgressOptions = {},
  { on, env }: ProgressOutput = { on: screen, env: process.env },
): Progress {
  if (verbosity() > 0) return steps(text, on);
  const { stream } = on;
  if (verbosity() < 0) return silent;
  if (!stream.isTTY || env["TERM"] === "dumb" || env["CI"]) return everywhere ? waits(text, on) : silent;
  const started = on.now();
  let current = text;
  let drawnAt: number | undefined;
  const draw = (atOnce = false): void => {
    const now = on.now();
    const isEarly = now - started < delay || (drawnAt !== undefined && now - drawnAt < frameInterval);
    if (isEarly && !atOnce) return;
    drawnAt = now;
    const seconds = Math.floor((now - started) / 1000);
    const frame = frames[Math.floor(now / frameInterval) % frames.length];
    const line = `${frame} ${current}${seconds > 0 ? `  ${seconds}s` : ""}`;
    // A line that wraps cannot be erased.
    stream.write(`${clearLine}${line.slice(0, Math.max(1, (stream.columns || 80) - 1))}`);
  };
  const timer = setInterval(() => draw(), frameInterval);
  timer.unref();
  const erase = (): void => {
    if (drawnAt !== undefined) stream.write(clearLine);
    drawnAt = undefined;
  };
  // The next prompt always starts on a new line.
  process.once("exit", erase);
  return {
    update(text) {
      current = text;
      draw();
    },
    show(text) {
      current = text;
      draw(true);
    },
    stop() {
      clearInterval(timer);
      process.off("exit", erase);
      erase();
    },
  };
}

const silent: Progress = { update() {}, show() {}, stop() {} };

/** Prints the current step once the user has waited for it, and then each other one that takes as long. */
function waits(first: string, { stream, now }: Screen): Progress {
  const began = now();
  let [current, since, printed] = [first, began, ""];
  const look = (): void => {
    if (now() - since < waitDelay || current === printed) return;
    printed = current;
    stream.write(`${current}: ${Math.floor((now() - began) / 1000)} s so far\n`);
  };
  const timer = setInterval(look, frameInterval);
  timer.unref();
  const update = (text: string): void => {
    look();
    if (text !== current) [current, since] = [text, now()];
  };
  return { update, show: update, stop: () => clearInterval(timer) };
}

/** Prints each step when it has ended, with its time. */
function steps(first: string, { stream, now }: Screen): Progress {
  let [current, since] = [first, now()];
  const end = (): void => {
    if (current !== "") stream.write(`${current}: ${((now() - since) / 1000).toFixed(1)} s\n`);
  };
  const update = (text: string): void => {
    // A changed count is not a new step.
    if (withoutNumbers(text) !== withoutNumbers(current)) {
      end();
      since = now();
    }
    current = text;
  };
  return {
    update,
    show: update,
    stop() {
      end();
      current = "";
    },
  };
}

const withoutNumbers = (text: string): string => text.replace(/\d+/g, "");

/** Shows progress while `work` runs. */
export async function withProgress<T>(
  text: string,
  work: (progress: Progress) => Promise<T>,
  options: ProgressOptions = {},
): Promise<T> {
  const progress = startProgress(text, options);
  try {
    return await work(progress);
  } finally {
    progress.stop();
  }
}
