import type * as protocol from '../../sidecar/protocol/protocol.ts';

/**
 * The protocol by the names of its constants, as types alone: the schemas behind them are loaded with the client
 * library, on first use.
 */
type Protocol = typeof protocol;

/** A request that this side may send. */
export type RequestName = {
  [Name in keyof Protocol]: Protocol[Name] extends protocol.RequestKind<infer _P, infer _R> ? Name : never;
}[keyof Protocol];
export type ParamsOf<Name extends RequestName> = protocol.ParamsOf<Protocol[Name]>;
export type ResultOf<Name extends RequestName> = protocol.ResultOf<Protocol[Name]>;

/** A notification that this side may receive. */
export type NotificationName = {
  [Name in keyof Protocol]: Protocol[Name] extends protocol.RequestKind<infer _P, infer _R>
    ? never
    : Protocol[Name] extends protocol.NotificationKind<infer _P>
      ? Name
      : never;
}[keyof Protocol];
export type NewsOf<Name extends NotificationName> =
  Protocol[Name] extends protocol.NotificationKind<infer P> ? import('zod').output<P> : never;
