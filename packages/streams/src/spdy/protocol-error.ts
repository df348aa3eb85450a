/** The other side does not speak valid SPDY/3.1. The session must end. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}
