/** For tests: the two ends of a TCP connection. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Sockets {
  readonly near: Socket;
  readonly far: Socket;
  close(): void;
}

export async function sockets(): Promise<Sockets> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const near = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [far] = (await once(server, "connection")) as [Socket];
  near.on("error", () => {});
  far.on("error", () => {});
  server.close();
  return {
    near,
    far,
    close() {
      near.destroy();
      far.destroy();
    },
  };
}
