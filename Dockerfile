# The image of the controller (manifests/controller.yaml): docker build -t registry.example.com/kubectl-nodepool:0.1.0 .
FROM node:26.10.0-slim AS build
WORKDIR /src
COPY . .
RUN npm ci && npm run prepack

FROM node:26.10.0-slim
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
