/** Home directory of containers. */
export const home = "/root";

/** Writable folders of each container, which cover those of the machine, with their modes. */
export const ownPlaces: readonly (readonly [path: string, mode: number])[] = [
  ["/tmp", 0o1777],
  ["/var/tmp", 0o1777],
  ["/run", 0o755],
  [home, 0o700],
];
