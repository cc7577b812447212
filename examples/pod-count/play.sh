# The number of pods becomes a label of the control-plane node, at once or within 10 s.
kubectl create -f examples/pod-count/sample.yaml
kubectl wait node/control-plane-0 --for=jsonpath='{.metadata.labels.hopegi/pod-count}'=3 --timeout=20s
kubectl get nodes -L hopegi/pod-count
# Each pod has an event that tells it.
sleep 1; kubectl events --for pod/web-1
# One pod fewer: the next pass sees it.
kubectl delete pod web-2 --now
kubectl wait node/control-plane-0 --for=jsonpath='{.metadata.labels.hopegi/pod-count}'=2 --timeout=20s
kubectl get nodes -L hopegi/pod-count
