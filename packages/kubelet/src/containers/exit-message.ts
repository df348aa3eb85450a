import type { Container, LogLine, RuntimeService } from "../runtime/service.ts";
import type { StartableContainer } from "../types/containers.ts";
import { terminationMessage } from "./termination-message.ts";

/**
 * Maximum length of a message from the end of a log. Upstream: MaxContainerTerminationMessageLogLength and
 * -Lines.
 */
const maxLogBytes = 2048;
const maxLogLines = 80;

/**
 * Adds the termination message to an exited container: from its file, or, with `terminationMessagePolicy:
 * FallbackToLogsOnError` and a failure, from the end of its log; and behind it the runtime's hint.
 */
export async function withExitMessage(
  container: Container,
  spec: StartableContainer | undefined,
  runtime: RuntimeService,
): Promise<Container> {
  const { state, message, config, exitCode, hint } = container;
  if (state !== "exited" || message !== undefined) return container;
  let word = config.terminationLog === "" ? "" : terminationMessage(config.terminationLog);
  if (word === "" && exitCode !== 0 && spec?.terminationMessagePolicy === "FallbackToLogsOnError")
    word = await endOfLog(runtime.readLog(config.logPath, { tail: maxLogLines }));
  const text = [word.trimEnd(), hint].filter(Boolean).join("\n");
  return text === "" ? container : { ...container, message: hint === undefined ? word : text };
}

async function endOfLog(blocks: AsyncIterable<readonly LogLine[]>): Promise<string> {
  let end = Buffer.alloc(0);
  for await (const lines of blocks)
    end = Buffer.concat([end, ...lines.map(({ text }) => text)]).subarray(-maxLogBytes);
  return end.toString("utf8");
}
