location.replace(document.getElementById('moved').dataset.to);
