import type { APIPromise, Delivery, ListDeliveriesQuery, ListDeliveriesResponse, PagePromise, RequestOptions } from '@penstock/sdk';
import { client } from './api.ts';

/** Where a page is, as the props of a link. */
interface Place {
  to: string;
  params: never;
}

/** The log of deliveries to one URL: to a webhook of a factory, or to a connection to a forge, whose events are for several factories. */
export interface DeliveryLog {
  /** The webhook or the connection. */
  uid: string;
  /** The factory of the webhook. A connection has none. */
  factory: string | undefined;
  /** The page with the log. */
  page: Place;
  /** The page of a delivery. */
  pageOf: (delivery: string) => Place;
  list: (query: ListDeliveriesQuery, options?: RequestOptions) => PagePromise<ListDeliveriesResponse, Delivery>;
  read: (delivery: string, options?: RequestOptions) => APIPromise<Delivery>;
  payload: (delivery: string, options?: RequestOptions) => APIPromise<Response>;
  replay: (delivery: string) => APIPromise<Delivery>;
}

export function logOfWebhook(factory: string, uid: string): DeliveryLog {
  return {
    uid,
    factory,
    page: { to: '/factory/$uid/webhooks/$wuid', params: { uid: factory, wuid: uid } as never },
    pageOf: (did) => ({
      to: '/factory/$uid/webhooks/$wuid/deliveries/$did',
      params: { uid: factory, wuid: uid, did } as never,
    }),
    list: (query, options) => client.deliveries.list(factory, uid, query, options),
    read: (did, options) => client.deliveries.get(factory, uid, did, options),
    payload: (did, options) => client.deliveries.payload(factory, uid, did, options),
    replay: (did) => client.deliveries.replay(factory, uid, did),
  };
}

export function logOfConnection(uid: string): DeliveryLog {
  return {
    uid,
    factory: undefined,
    page: { to: '/forges/$uid', params: { uid } as never },
    pageOf: (did) => ({ to: '/forges/$uid/deliveries/$did', params: { uid, did } as never }),
    list: (query, options) => client.forges.deliveries(uid, query, options),
    read: (did, options) => client.forges.delivery(uid, did, options),
    payload: (did, options) => client.forges.deliveryPayload(uid, did, options),
    replay: (did) => client.forges.replay(uid, did),
  };
}

/** The log and the delivery of a link to the page of a delivery, such as the one of a run that it has started. */
export function deliveryAt(url: string): { log: DeliveryLog; delivery: string } | undefined {
  const [, factory, webhook, connection, delivery] =
    /(?:\/factory\/([^/]+)\/webhooks\/([^/]+)|\/forges\/([^/]+))\/deliveries\/([^/?#]+)/.exec(url) ?? [];
  if (!delivery) {
    return undefined;
  }
  return { log: connection ? logOfConnection(connection) : logOfWebhook(factory ?? '', webhook ?? ''), delivery };
}
