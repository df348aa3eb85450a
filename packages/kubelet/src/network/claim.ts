import { createServer, type Server } from "node:net";

/** A name that one process of the machine holds at a time, until it closes it or ends. */
export interface Claim {
  close(): void;
}

/**
 * Claims a name for this process, by an abstract socket of this network name space. Resolves with undefined
 * if another process has it.
 */
export function claimName(name: string): Promise<Claim | undefined> {
  return new Promise((resolve, reject) => {
    const server: Server = createServer((socket) => socket.destroy());
    server.unref();
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(undefined) : reject(error),
    );
    server.listen(`\0${name}`, () => resolve(server));
  });
}
