kubectl apply -f examples/memcached/manifests
kubectl wait --for=condition=Established crd/memcacheds.cache.example.com --timeout=20s
# A Memcached of size 3 gets a Deployment, and names its pods in its status.
kubectl apply -f examples/memcached/sample.yaml
kubectl wait deployment/memcached-sample --for=create --timeout=60s
kubectl wait deployment/memcached-sample --for=jsonpath='{.status.readyReplicas}'=3 --timeout=60s
kubectl get memcached,deployment,pods -o wide
# A larger size adds a pod.
kubectl patch memcached memcached-sample --type=merge -p '{"spec":{"size":4}}'
kubectl wait deployment/memcached-sample --for=jsonpath='{.status.readyReplicas}'=4 --timeout=60s
kubectl get memcached memcached-sample -o yaml
# Somebody scales the Deployment: the controller scales it back.
kubectl scale deployment memcached-sample --replicas=1
kubectl wait deployment/memcached-sample --for=jsonpath='{.status.readyReplicas}'=4 --timeout=60s
# The garbage collector deletes the Deployment and its pods. It started before the CRD existed, so this may take 30 s.
kubectl delete memcached memcached-sample
kubectl wait deployment/memcached-sample --for=delete --timeout=60s
kubectl wait pods -l app.kubernetes.io/name=memcached --for=delete --timeout=60s
