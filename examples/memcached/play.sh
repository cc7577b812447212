kubectl apply -f examples/memcached/manifests
kubectl wait --for=condition=Established crd/memcacheds.cache.example.com --timeout=20s
# A Memcached of size 3 gets a Deployment, and names its pods in its status.
kubectl apply -f examples/memcached/sample.yaml
kubectl wait deployment/memcached-sample --for=create --timeout=60s
kubectl wait deployment/memcached-sample --for=jsonpath='{.status.readyReplicas}'=3 --timeout=60s
kubectl get memcached,deployment,pods -o wide
# One more.
kubectl patch memcached memcached-sample --type=merge -p '{"spec":{"size":4}}'
kubectl wait deployment/memcached-sample --for=jsonpath='{.status.readyReplicas}'=4 --timeout=60s
kubectl get memcached memcached-sample -o yaml
# Somebody scales the Deployment itself: it goes back.
kubectl scale deployment memcached-sample --replicas=1
kubectl wait deployment/memcached-sample --for=jsonpath='{.status.readyReplicas}'=4 --timeout=60s
# All goes with its owner (the garbage collector, which is older than the definition, may take 30 s to know it).
kubectl delete memcached memcached-sample
kubectl wait deployment/memcached-sample --for=delete --timeout=60s
kubectl wait pods -l app.kubernetes.io/name=memcached --for=delete --timeout=60s
