import { once } from "node:events";
import { createServer } from "node:net";

/**
 * `port` itself, or for 0 a free one: objects name it before the server listens. Rejects if `host` does not
 * give it.
 */
export async function choosePort(host: string, port: number): Promise<number> {
  const probe = createServer();
  try {
    probe.listen(port, host);
    await once(probe, "listening");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE") throw new Error(`cannot listen on ${host}:${port}: ${message}`);
    throw new Error(
      `port ${port} of ${host} is in use by another program: choose one with --port, or 0 for a free one`,
    );
  }
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === "string") throw new Error(`${host} gave no port`);
  return address.port;
}
