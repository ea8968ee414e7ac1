/** One of the values T, or one that is newer than this SDK. */
export type Open<T extends string> = T | (string & {});

/** The values of {@link Open} that this SDK knows. */
export type Known<T extends string> = T extends T ? (string extends T ? never : T) : never;

/**
 * A member of a union that is newer than this SDK. At run time its discriminator is any other string; the pattern here only stands for
 * it, so that `switch` and `===` tell the known members apart, and find a misspelt one. `event.event as string` is the way around.
 */
export type Unrecognized<K extends string, Common = object> = Common & { [key in K]: `unrecognized: ${string}` };
