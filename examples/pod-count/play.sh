# The number of pods becomes a label of the control-plane node, at once or within 10 s.
kubectl create -f examples/pod-count/sample.yaml
kubectl wait node/control-plane-0 --for=jsonpath='{.metadata.labels.hopegi/pod-count}'=3 --timeout=20s
kubectl get nodes -L hopegi/pod-count
# Each pod has an event with this number.
sleep 1; kubectl events --for pod/web-1
# After a pod is deleted, the next count is lower.
kubectl delete pod web-2 --now
kubectl wait node/control-plane-0 --for=jsonpath='{.metadata.labels.hopegi/pod-count}'=2 --timeout=20s
kubectl get nodes -L hopegi/pod-count
