/** The other side does not speak SPDY/3.1, or speaks it wrongly: the session is over. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}
