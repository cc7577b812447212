# The image of the controller (manifests/controller.yaml): docker build -t registry.example.com/kubectl-nodepool:0.1.0 .
# A tag can come to mean another image. To pin what is built on, name its digest, which `docker buildx imagetools inspect
# node:26.10.0-slim` prints: docker build --build-arg BASE=node:26.10.0-slim@sha256:DIGEST .
ARG BASE=node:26.10.0-slim

FROM ${BASE} AS build
WORKDIR /src
COPY . .
RUN npm ci && npm run prepack

FROM ${BASE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /src/package.json /src/LICENSE ./
COPY --from=build /src/bin/kubectl-nodepool.js bin/
COPY --from=build /src/dist/npm dist/npm/
COPY --from=build /src/manifests manifests/
# Any user that is not root will do; the Deployment names this one.
USER 65532:65532
ENTRYPOINT ["node", "bin/kubectl-nodepool.js"]
CMD ["reconcile", "--watch"]
