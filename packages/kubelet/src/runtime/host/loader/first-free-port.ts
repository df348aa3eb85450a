import { createServer } from "node:net";
import { readUnprivilegedPortStart } from "../../../network/host-ports.ts";

/**
 * First port that pods may listen on: 0 if this process, from which they have their rights, may listen on
 * every one. Tried, since the capability alone does not say it: that of a user name space counts for the
 * networks of that name space only.
 */
export async function firstFreePort(): Promise<number> {
  const start = readUnprivilegedPortStart();
  if (start <= 1) return 0;
  return (await mayListen(Math.min(start, 1024) - 1)) ? 0 : start;
}

function mayListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "EACCES"));
    // An address that no pod has.
    server.listen(port, "127.1.255.254", () => server.close(() => resolve(true)));
  });
}
