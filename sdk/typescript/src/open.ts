/** One of the values T, or a value that is newer than this SDK. */
export type Open<T extends string> = T | (string & {});

/** The values of {@link Open} that this SDK knows. */
export type Known<T extends string> = T extends T ? (string extends T ? never : T) : never;

/**
 * A member of a union that is newer than this SDK. At run time its discriminator is any other string. This pattern stands
 * for it, so that `switch` and `===` narrow to the known members and reject a misspelled one. To compare with other strings, use
 * `event.event as string`.
 */
export type Unrecognized<K extends string, Common = object> = Common & { [key in K]: `unrecognized: ${string}` };
