/** The home of containers. */
export const home = "/root";

/** Writable places of a container's own, which cover those of the machine, and their modes. */
export const ownPlaces: readonly (readonly [path: string, mode: number])[] = [
  ["/tmp", 0o1777],
  ["/var/tmp", 0o1777],
  ["/run", 0o755],
  [home, 0o700],
];
