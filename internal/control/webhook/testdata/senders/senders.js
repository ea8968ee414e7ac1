// Signs and verifies requests with the senders' own SDKs, for tests: one JSON
// object a line on standard input, one answer a line on standard output, in
// order, until the input ends.
//
//   {"op": "sign", "scheme", "secret", "body", "now", "id"?} -> {"headers": {…}}
//   {"op": "verify", "scheme", "secret", "body", "now", "headers": {…}} -> {"valid": bool}
//
// now is in unix seconds. What an SDK throws on sign is {"error": "…"}.
import { createInterface } from "node:readline";
import { randomUUID } from "node:crypto";
import { signWebhookPayload, verifyWebhookSignature } from "@notionhq/client";
import * as octokit from "@octokit/webhooks-methods";
import discord from "discord-interactions";
import standard from "standardwebhooks";
import Stripe from "stripe";
import svix from "svix";

// An SDK's verifier answers true or false, or it throws: what it returns beside
// those is the parsed body.
const senders = {
  standard_webhooks: {
    sign: ({ secret, body, now, id }) => ({
      "webhook-id": id,
      "webhook-timestamp": String(now),
      "webhook-signature": new standard.Webhook(secret).sign(id, new Date(now * 1000), body),
    }),
    verify: ({ secret, body, headers }) => new standard.Webhook(secret).verify(body, headers),
  },
  svix: {
    sign: ({ secret, body, now, id }) => ({
      "svix-id": id,
      "svix-timestamp": String(now),
      "svix-signature": new svix.Webhook(secret).sign(id, new Date(now * 1000), body),
    }),
    verify: ({ secret, body, headers }) => new svix.Webhook(secret).verify(body, headers),
  },
  stripe: {
    sign: ({ secret, body, now }) => ({
      "Stripe-Signature": Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: now }),
    }),
    verify: ({ secret, body, headers }) => Stripe.webhooks.constructEvent(body, headers["Stripe-Signature"], secret),
  },
  github: {
    sign: async ({ secret, body, id }) => ({
      "X-GitHub-Delivery": id,
      "X-GitHub-Event": "push",
      "X-Hub-Signature-256": await octokit.sign(secret, body),
    }),
    verify: ({ secret, body, headers }) => octokit.verify(secret, body, headers["X-Hub-Signature-256"]),
  },
  notion: {
    sign: async ({ secret, body }) => ({
      "X-Notion-Signature": await signWebhookPayload({ body, verificationToken: secret }),
    }),
    verify: ({ secret, body, headers }) =>
      verifyWebhookSignature({ body, signature: headers["X-Notion-Signature"], verificationToken: secret }),
  },
  // Discord's SDK only verifies: its tests' requests are signed elsewhere.
  discord: {
    verify: ({ secret, body, headers }) =>
      discord.verifyKey(body, headers["X-Signature-Ed25519"], headers["X-Signature-Timestamp"], secret),
  },
};

async function answer(request) {
  const sender = senders[request.scheme];
  Date.now = () => request.now * 1000; // the only clock that the SDKs look at
  if (request.op === "sign") {
    return { headers: await sender.sign({ id: randomUUID(), ...request }) };
  }
  try {
    return { valid: (await sender.verify(request)) !== false };
  } catch {
    return { valid: false };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = await answer(JSON.parse(line));
  } catch (err) {
    reply = { error: String(err) };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
