import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router';
import { queryClient, sessionQuery } from './api.ts';
import { Shell } from './layout/Shell.tsx';
import { queryOf } from './pages/runs/filters.ts';
import { runsQuery } from './queries.ts';
import { parseSearch, stringifySearch } from './search.ts';
import { Failure } from './ui/Failure.tsx';
import { NotFound } from './ui/NotFound.tsx';

const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { next?: string; ended?: string } => ({
    ...(typeof search.next === 'string' ? { next: search.next } : {}),
    ...(search.ended === '1' ? { ended: '1' } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/sign-in/SignInPage.tsx'), 'SignInPage'),
});

const callbackRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in/callback',
  validateSearch: (search: Record<string, unknown>): Record<string, string> =>
    Object.fromEntries(
      ['state', 'code', 'iss', 'error', 'error_description'].flatMap((name) =>
        search[name] === undefined ? [] : [[name, String(search[name])]],
      ),
    ),
  component: lazyRouteComponent(() => import('./pages/sign-in/CallbackPage.tsx'), 'CallbackPage'),
});

/** Redirects to the sign-in without a session, and back here afterwards. */
export const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'app',
  beforeLoad: async ({ location, matches }) => {
    for (const { routeId } of matches) {
      router.loadRouteChunk(router.routesById[routeId])?.catch(() => {}); // in parallel with the session; the router reports a failure later
    }
    const known = queryClient.getQueryData(sessionQuery.queryKey);
    const session = known === undefined ? await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }) : known;
    if (!session) {
      const ended = known === null ? { ended: '1' } : {};
      throw redirect({ to: '/sign-in', search: { next: location.href, ...ended } });
    }
  },
  component: Shell,
});

const homeRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/',
  validateSearch: (search: Record<string, unknown>): { range?: string; cost?: string } => ({
    ...(typeof search.range === 'string' ? { range: search.range } : {}),
    ...(typeof search.cost === 'string' ? { cost: search.cost } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/home/HomePage.tsx'), 'HomePage'),
});

const runsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/runs',
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string | string[]>,
  loaderDeps: ({ search }) => search,
  loader: ({ deps }) => {
    void queryClient.prefetchQuery(runsQuery(queryOf(deps))); // starts before the page is loaded
  },
  component: lazyRouteComponent(() => import('./pages/runs/RunsPage.tsx'), 'RunsPage'),
});

const runRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/runs/$runId',
  validateSearch: (search: Record<string, unknown>): { tab?: string } => (typeof search.tab === 'string' ? { tab: search.tab } : {}),
  component: lazyRouteComponent(() => import('./pages/run/RunPage.tsx'), 'RunPage'),
});

const factoriesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/factories',
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string | string[]>,
  component: lazyRouteComponent(() => import('./pages/factories/FactoriesPage.tsx'), 'FactoriesPage'),
});

const factoryRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/factory/$uid',
  component: lazyRouteComponent(() => import('./pages/factories/FactoryPage.tsx'), 'FactoryPage'),
});

const filesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/factory/$uid/files',
  component: lazyRouteComponent(() => import('./pages/factories/FilesPage.tsx'), 'FilesPage'),
});

const historyRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/factory/$uid/history',
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string | string[]>,
  component: lazyRouteComponent(() => import('./pages/factories/HistoryPage.tsx'), 'HistoryPage'),
});

const schedulesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/schedules',
  component: lazyRouteComponent(() => import('./pages/schedules/SchedulesPage.tsx'), 'SchedulesPage'),
});

const environmentsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/environments',
  component: lazyRouteComponent(() => import('./pages/environments/EnvironmentsPage.tsx'), 'EnvironmentsPage'),
});

const environmentRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/environments/$uid',
  component: lazyRouteComponent(() => import('./pages/environments/EnvironmentPage.tsx'), 'EnvironmentPage'),
});

const spendRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/spend',
  validateSearch: (search: Record<string, unknown>): { days?: string; by?: string } => ({
    ...(typeof search.days === 'string' ? { days: search.days } : {}),
    ...(typeof search.by === 'string' ? { by: search.by } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/spend/SpendPage.tsx'), 'SpendPage'),
});

const workersRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/workers',
  component: lazyRouteComponent(() => import('./pages/workers/WorkersPage.tsx'), 'WorkersPage'),
});

const secretsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/secrets',
  component: lazyRouteComponent(() => import('./pages/secrets/SecretsPage.tsx'), 'SecretsPage'),
});

const settingsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/settings/SettingsPage.tsx'), 'SettingsPage'),
});

const peopleRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/people',
  component: lazyRouteComponent(() => import('./pages/people/PeoplePage.tsx'), 'PeoplePage'),
});

const keysRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/keys',
  component: lazyRouteComponent(() => import('./pages/keys/KeysPage.tsx'), 'KeysPage'),
});

const forgesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/forges',
  component: lazyRouteComponent(() => import('./pages/forges/ForgesPage.tsx'), 'ForgesPage'),
});

const forgeRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/forges/$uid',
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string | string[]>,
  component: lazyRouteComponent(() => import('./pages/forges/ForgePage.tsx'), 'ForgePage'),
});

const connectionDeliveryRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/forges/$uid/deliveries/$did',
  component: lazyRouteComponent(() => import('./pages/deliveries/DeliveryPage.tsx'), 'ConnectionDeliveryPage'),
});

const endpointsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/event-endpoints',
  component: lazyRouteComponent(() => import('./pages/endpoints/EndpointsPage.tsx'), 'EndpointsPage'),
});

const endpointRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/event-endpoints/$uid',
  validateSearch: (search: Record<string, unknown>): { cursor?: string } =>
    typeof search.cursor === 'string' ? { cursor: search.cursor } : {},
  component: lazyRouteComponent(() => import('./pages/endpoints/EndpointPage.tsx'), 'EndpointPage'),
});

const webhooksSearch = ['factory', 'outcome', 'received_after', 'received_before'] as const;

const webhooksRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/webhooks',
  // The deliveries to show, if they are not the last ones: their outcome and time.
  validateSearch: (search: Record<string, unknown>): { [name in (typeof webhooksSearch)[number]]?: string } =>
    Object.fromEntries(webhooksSearch.flatMap((name) => (typeof search[name] === 'string' ? [[name, search[name]]] : []))),
  component: lazyRouteComponent(() => import('./pages/webhooks/WebhooksPage.tsx'), 'WebhooksPage'),
});

/** These pages of a factory are the list of all, filtered by the factory. */
const ofFactoryRoutes = (['webhooks', 'automations'] as const).map((noun) =>
  createRoute({
    getParentRoute: () => appRoute,
    path: `/factory/$uid/${noun}`,
    beforeLoad: ({ params }) => {
      throw redirect({ to: `/${noun}`, search: { factory: (params as { uid: string }).uid }, replace: true });
    },
  }),
);

const webhookRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/factory/$uid/webhooks/$wuid',
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string | string[]>,
  component: lazyRouteComponent(() => import('./pages/webhooks/WebhookPage.tsx'), 'WebhookPage'),
});

const deliveryRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/factory/$uid/webhooks/$wuid/deliveries/$did',
  component: lazyRouteComponent(() => import('./pages/deliveries/DeliveryPage.tsx'), 'DeliveryPage'),
});

const automationsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/automations',
  validateSearch: (search: Record<string, unknown>): { factory?: string } =>
    typeof search.factory === 'string' ? { factory: search.factory } : {},
  component: lazyRouteComponent(() => import('./pages/automations/AutomationsPage.tsx'), 'AutomationsPage'),
});

const subjectsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/subjects',
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string | string[]>,
  component: lazyRouteComponent(() => import('./pages/subjects/SubjectsPage.tsx'), 'SubjectsPage'),
});

const subjectRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/subjects/$uid',
  component: lazyRouteComponent(() => import('./pages/subjects/SubjectPage.tsx'), 'SubjectPage'),
});

const forkRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/forks/$forkGroup',
  component: lazyRouteComponent(() => import('./pages/run/ForkPage.tsx'), 'ForkPage'),
});

const newAutomationRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/factory/$uid/automations/new',
  component: lazyRouteComponent(() => import('./pages/automations/AutomationPage.tsx'), 'NewAutomationPage'),
});

const automationRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/factory/$uid/automations/$auid',
  // The delivery to test the filter with.
  validateSearch: (search: Record<string, unknown>): { webhook?: string; delivery?: string } => ({
    ...(typeof search.webhook === 'string' ? { webhook: search.webhook } : {}),
    ...(typeof search.delivery === 'string' ? { delivery: search.delivery } : {}),
  }),
  component: lazyRouteComponent(() => import('./pages/automations/AutomationPage.tsx'), 'AutomationPage'),
});

const routeTree = rootRoute.addChildren([
  signInRoute,
  callbackRoute,
  appRoute.addChildren([
    homeRoute,
    runsRoute,
    runRoute,
    forkRoute,
    factoriesRoute,
    factoryRoute,
    filesRoute,
    historyRoute,
    webhooksRoute,
    webhookRoute,
    deliveryRoute,
    automationsRoute,
    newAutomationRoute,
    automationRoute,
    subjectsRoute,
    subjectRoute,
    ...ofFactoryRoutes,
    schedulesRoute,
    environmentsRoute,
    environmentRoute,
    spendRoute,
    workersRoute,
    secretsRoute,
    forgesRoute,
    forgeRoute,
    connectionDeliveryRoute,
    endpointsRoute,
    endpointRoute,
    peopleRoute,
    keysRoute,
    settingsRoute,
  ]),
]);

export const router = createRouter({
  routeTree,
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  defaultErrorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
